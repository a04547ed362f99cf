"""Simulates the iterations of a group of operators, and finds the bytes that are live at each iteration."""
