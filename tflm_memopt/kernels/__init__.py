"""Kernels from one description: a small language with a checker, a NumPy interpreter, an access analysis and a C
writer.
"""
