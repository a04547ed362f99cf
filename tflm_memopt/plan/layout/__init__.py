"""Assigns an arena offset to every buffer of a plan."""
