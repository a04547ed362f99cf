"""Generates register interfaces for the drivers around a model (chapter 6 of the dissertation on fused tiling).

Data flows one way: header.py or svd.py read a description of registers (description.py), and source.py reads a driver
that uses them (driver.py); flatten.py simplifies groups, conflicts.py finds accesses that can be combined, layout.py
places fields, accessors.py and rewrite.py write C, and generate.py runs all steps.

The package `registers` knows nothing about tensors.
"""
