"""Kernels from one description each: the language with its checker, NumPy interpreter, access analysis and C writer."""
