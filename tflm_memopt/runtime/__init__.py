"""Runs models under the official TFLM wheel with our operator, and in the host build of the C library."""
