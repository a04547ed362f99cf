"""Runs one network on several linked devices."""
