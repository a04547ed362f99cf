"""Rewrites of the graph that change no output: fewer forms, an int8 border."""
