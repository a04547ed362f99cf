"""Kernels that are described, an operator's family in each file."""
