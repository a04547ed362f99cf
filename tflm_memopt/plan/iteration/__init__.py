"""The iterations of a group: their trace, and the live bytes at each of them."""
