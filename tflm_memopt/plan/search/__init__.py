"""Cuts regions into groups: candidate groups, their costs, and the frontier of cuts."""
