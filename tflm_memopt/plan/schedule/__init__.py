"""Orders of operators, including the one with the fewest live bytes."""
