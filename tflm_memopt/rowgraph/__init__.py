"""Builds the graph on which planner, checker and lowering work."""
