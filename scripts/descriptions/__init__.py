"""These modules describe kernels of the C library for scripts/kernels.py. No operator of the package needs the
descriptions.
"""
