"""The independent plan checker. The checker is deliberately simple and shares only the Plan itself with the planner."""
