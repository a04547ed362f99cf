"""Boards and cores."""
