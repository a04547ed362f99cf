"""Tests of the C kernels. A regular package is needed: scripts/kernels.py would hide a namespace package."""
