"""Converts a plan to bytes: the program that the C library runs, and the rewritten model."""
