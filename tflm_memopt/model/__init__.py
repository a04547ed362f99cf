"""Reading and writing .tflite models."""
