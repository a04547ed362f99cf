"""Types of the results that the package's functions return."""
