"""The graph of row operators on which the planner works."""
