"""Reads and writes .tflite models."""
