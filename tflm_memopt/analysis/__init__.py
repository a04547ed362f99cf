"""Estimates of a model's instructions, time and flash, and the diagnosis of a model."""
