"""Descriptions of the C library's kernels for scripts/kernels.py."""
