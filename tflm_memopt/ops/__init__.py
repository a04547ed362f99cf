"""The operators that run row by row, with all that planner, checker and lowering need to know about each operator."""
