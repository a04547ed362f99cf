"""Applications of several models that share one arena, and their results."""
