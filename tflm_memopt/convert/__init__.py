"""Turns a model and the user's options into a checked plan, a rewritten model and a report."""
