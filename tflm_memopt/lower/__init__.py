"""Lowers a plan to bytes: the program and the rewritten model."""
