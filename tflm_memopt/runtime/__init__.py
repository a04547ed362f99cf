"""Runs models under TFLM's official Python wheel with our operator, and in the host build of the C library."""
