"""Turns a plan into bytes: the program that the C library runs, and the rewritten model."""
