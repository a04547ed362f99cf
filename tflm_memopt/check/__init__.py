"""The independent plan checker. It is deliberately simple and shares only the Plan itself with the planner."""
