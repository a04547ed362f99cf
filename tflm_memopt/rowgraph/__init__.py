"""Builds the graph on which the planner works: operators that run row by row, and operators that TFLM's kernels run."""
