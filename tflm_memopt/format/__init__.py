"""The binary format of programs: limits, codes and the types of fields. The script scripts/program_format.py writes the
C header and docs/program-format.md from the records in lower/program.py.
"""
