"""Result types of the package's functions: plain data, computed once. Users import these types from results.py."""
