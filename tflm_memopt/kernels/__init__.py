"""Kernels from one description: a small language, its checker, its NumPy reading, its accesses and its C."""
