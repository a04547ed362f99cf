"""Rewrites of the graph that keep all outputs: canonicalisation, and int8 inputs and outputs."""
