"""Checks finished plans independently of the planner."""
