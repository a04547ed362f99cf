"""Tests of the C kernels. Without this file, Python would import scripts/kernels.py instead of this package."""
