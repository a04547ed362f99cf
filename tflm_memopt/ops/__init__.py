"""Which operators run row by row, and all that planner, checker and lowering ask of one."""
