"""The one graph that the planner sees: operators as rows."""
