"""What the functions of the package answer, as plain data that is computed once. Users import it from results.py."""
