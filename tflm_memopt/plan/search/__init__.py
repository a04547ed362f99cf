"""Divides each region into groups of operators, by bytes and multiply-accumulates."""
