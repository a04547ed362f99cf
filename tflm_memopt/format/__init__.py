"""The binary format of programs: limits, codes and the types of fields. From the records in lower/program.py,
scripts/program_format.py writes the C header and docs/program-format.md.
"""
