"""Rewrites a model's graph so that more operators run row by row, without changing the outputs."""
