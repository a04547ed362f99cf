"""Orders of operators, including the order with the fewest live bytes."""
