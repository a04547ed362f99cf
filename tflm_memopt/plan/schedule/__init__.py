"""Orders of operators, and the one that keeps the fewest bytes alive at once."""
