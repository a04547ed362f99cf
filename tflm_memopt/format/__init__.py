"""The binary format of programs: its limits, its codes and the types of its fields.

Programs consist of records, the dataclasses of lower/program.py, from which scripts/program_format.py writes the C
header and the tables of docs/program-format.md.
"""
