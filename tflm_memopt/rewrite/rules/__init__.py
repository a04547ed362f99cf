"""Rewrites of a graph to fewer forms: a module for each."""
