"""The binary format of programs: its limits, its codes and the types of its fields.

The records themselves are the dataclasses of lower/program.py. scripts/program_format.py writes the C header and the
tables of docs/program-format.md from them.
"""
