"""Converts a model: turns the user's options into a checked plan, the rewritten model, and a report."""
