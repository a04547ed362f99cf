"""Sizes and counts as people write them: 20kB, 64KiB, 3.2M."""

from __future__ import annotations

import re

from tflm_memopt.errors import UsageError

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "kib": 2**10, "mib": 2**20}
PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


def size(said: int | str) -> int:
    """Bytes: 20kB is 20,000, 64KiB is 65,536, a number alone is bytes. Raises UsageError for what is no size.

    >>> size("20kB"), size("64KiB"), size("1.5 kB"), size("512"), size(512)
    (20000, 65536, 1500, 512, 512)
    """
    value = _scaled(said, UNITS)
    if value is None:
        hint = "20480, 20kB (1,000 B each) or 64KiB (1,024 B each)"
        raise UsageError(f"'{said}' is no size", code="bad_size", hint=hint)
    return value


def number(said: int | str) -> int:
    """A whole number from 1: 3.2M is 3,200,000. Raises UsageError for what is none.

    >>> number("3.2M"), number("500k"), number(12)
    (3200000, 500000, 12)
    """
    value = _scaled(said, PREFIXES)
    if value is None or value < 1:
        raise UsageError(f"'{said}' is no number from 1", code="bad_number", hint="3200000, 3200k or 3.2M")
    return value


def _scaled(said: int | str | None, factors: dict[str, int]) -> int | None:
    if not isinstance(said, str):
        return said
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", said.strip().lower(), re.ASCII)
    factor = factors.get(parts[2]) if parts else None
    return round(float(parts[1]) * factor) if parts and factor else None
