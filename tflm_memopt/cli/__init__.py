"""The command line: arguments, commands and printed answers."""
