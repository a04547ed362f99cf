"""These modules describe kernels of the C library for scripts/kernels.py. No package imports these modules."""
