"""Estimates a model's instructions, time and flash, and diagnoses models."""
