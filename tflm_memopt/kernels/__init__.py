"""Kernels from one description: a small language, its checker, its NumPy interpreter, its access analysis and its C
writer.
"""
