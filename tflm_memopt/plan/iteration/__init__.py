"""Simulates the iterations of a group of operators, and finds the live bytes at each."""
