"""The trace of a group's iterations, and the live bytes at each iteration."""
