"""Checks finished plans independently of the planner, with which it shares only the class Plan."""
