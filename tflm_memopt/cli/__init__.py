"""The command line: what users type, and what they read."""
