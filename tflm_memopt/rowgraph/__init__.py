"""The graph that the planner works on, with operators as rows."""
