"""Kernel descriptions, one module per family of operators."""
