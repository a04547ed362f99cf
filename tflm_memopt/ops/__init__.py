"""The operators that run row by row, with everything that planner, checker and lowering need to know about each."""
