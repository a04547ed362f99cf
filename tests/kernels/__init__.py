"""Tests of the C kernels. Without this file, `import kernels` would find scripts/kernels.py."""
