"""Builds the graph on which the planner works: operators that run row by row, and builtin operators."""
