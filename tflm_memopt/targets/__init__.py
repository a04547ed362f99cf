"""The boards and cores that models are for."""
