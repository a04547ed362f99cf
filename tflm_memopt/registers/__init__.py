"""Generates register interfaces for the drivers around a model (chapter 6 of the dissertation on fused tiling).

header.py or svd.py reads a description of registers (description.py). source.py reads a driver that uses these
registers (driver.py). flatten.py simplifies groups, and conflicts.py finds the accesses that can be combined. layout.py
places fields, accessors.py and rewrite.py write C, and generate.py runs all steps.
"""
