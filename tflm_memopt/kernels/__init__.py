"""The kernel language: descriptions of kernels, their NumPy interpreter, access analysis, rewrites and C writer."""
