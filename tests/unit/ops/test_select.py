"""Test the parameter of SELECT, which assigns rows to operands."""

from __future__ import annotations

from tflm_memopt.ops.select import in_order, without_rows

FORM = 4 << 12 | 0b1010 << 8 | 0b0001 << 4 | 0b1100
"""A parameter of four bytes per element, rows 0 to 2. Operand 0 repeats column and channel, operand 2 its channel."""


def test_rows_are_numbered_anew() -> None:
    assert in_order(FORM, (2, 0, 1)) == 4 << 12 | 0b1001 << 8 | 0b0000 << 4 | 0b1110


def test_what_verify_compares_does_not_depend_on_the_order() -> None:
    assert without_rows(in_order(FORM, (2, 0, 1))) == without_rows(FORM) != FORM
