"""Finds operator orders that are worth planning, such as the order with the fewest live bytes."""
