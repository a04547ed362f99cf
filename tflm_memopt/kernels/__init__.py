"""Describes kernels in Python. The package interprets, analyses and rewrites descriptions, and writes C code."""
