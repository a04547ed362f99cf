"""Tests of the C kernels. A regular package, since scripts/kernels.py would hide a namespace package."""
