"""Kernels from one description: a language with checker, NumPy interpreter, access analysis and C writer."""
