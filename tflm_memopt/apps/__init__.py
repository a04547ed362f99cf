"""Applications: several models that share one arena."""
