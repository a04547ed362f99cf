"""Runs models under TFLM's official Python wheel with the custom operators, or in the host build of the C library."""
