"""Rewrite rules, one in each module."""
