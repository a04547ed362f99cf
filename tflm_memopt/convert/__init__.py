"""From a model and what is asked for to the plan that the user gets, and what is told of it."""
