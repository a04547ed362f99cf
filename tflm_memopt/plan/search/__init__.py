"""Cuts regions into groups: candidates, their costs, and the frontier of cuts."""
