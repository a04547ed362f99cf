"""Tests of the C kernels. Without this file, scripts/kernels.py would hide the package."""
