"""Applications with several models in one arena."""
