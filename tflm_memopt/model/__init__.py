"""Reading, writing and understanding .tflite models."""
