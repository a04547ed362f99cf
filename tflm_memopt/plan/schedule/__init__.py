"""Finds operator orders that are worth planning, such as the one with the fewest live bytes."""
