"""Constraints on operators that run row by row, one module per family. The table opset.OPSET combines the constraints
of all modules.
"""
