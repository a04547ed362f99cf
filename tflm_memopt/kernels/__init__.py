"""Describes kernels in Python, interprets the descriptions, and writes C code for any core."""
