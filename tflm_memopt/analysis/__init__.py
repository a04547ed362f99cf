"""Analyses of a graph: arena, cost, support. They never change the graph."""
