"""These modules describe kernels of the C library for scripts/kernels.py. The package does not import them."""
