"""Tests of the C kernels; without this file, `import kernels` would find scripts/kernels.py."""
