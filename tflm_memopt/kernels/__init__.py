"""Describes kernels in Python. The package interprets descriptions, and writes C code for any core."""
