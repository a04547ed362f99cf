"""Knows all operators that run row by row, for planner, checker and lowering."""
