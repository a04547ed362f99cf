"""Describes microcontroller boards and cores."""
