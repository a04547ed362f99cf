"""These modules describe kernels of the C library for scripts/kernels.py. The package tflm_memopt does not import these
modules.
"""
