"""Kernels as descriptions in Python. The package interprets, analyses and rewrites descriptions, and writes C code for
them.
"""
