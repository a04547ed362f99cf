"""Kernels of the C library that no operator of the package needs: sources of scripts/kernels.py."""
