"""Implements the command line: arguments, commands and printed answers."""
