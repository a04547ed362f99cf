"""Generates register interfaces for the drivers around a model (chapter 6 of the dissertation on fused tiling)."""
