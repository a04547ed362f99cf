"""Analyses of a graph: arena, cost, support."""
