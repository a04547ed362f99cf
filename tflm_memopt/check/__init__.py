"""The independent checker of plans: naive, and nothing of the planner is in it but the Plan itself."""
