"""Several models that share one arena: what an application is, and what is told of it."""
