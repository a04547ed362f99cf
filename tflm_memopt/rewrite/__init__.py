"""Rewrites a model's graph without changing its outputs: rules for fewer forms of operators, tiles, int8 interfaces."""
