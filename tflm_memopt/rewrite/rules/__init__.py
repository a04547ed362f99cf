"""Rewrite rules that reduce a graph to fewer forms, one module each."""
