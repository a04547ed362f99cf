"""Writes the files that accompany a rewritten model: arrays, op resolvers, C modules and projects that compile them."""
