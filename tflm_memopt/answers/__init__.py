"""Result types of the package's functions: plain data, computed once."""
