"""Tests of the C kernels. Without tests/kernels/__init__.py, `import kernels` would find scripts/kernels.py."""
