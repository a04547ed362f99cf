"""Types of the command line's arguments for argparse."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

from tflm_memopt import units
from tflm_memopt.errors import UsageError
from tflm_memopt.plan.effort import factor as times

T = TypeVar("T")


def count(argument: str) -> int:
    """Read a whole number from 0."""
    if not argument.isascii() or not argument.isdigit():
        raise argparse.ArgumentTypeError(f"'{argument}' is not a whole number from 0")
    return int(argument)


def factor(argument: str) -> float:
    """Read a finite number above 0."""
    try:
        value = float(argument)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{argument}' is not a valid factor; 1.1 means 10 % more than the original")
    return value


def effort(argument: str) -> str:
    """Read a level of effort or a factor."""
    _said(times, argument)
    return argument


def time(argument: str) -> float:
    """Read a time in milliseconds."""
    return _said(units.milliseconds, argument)


def clock(argument: str) -> float:
    """Read a frequency in MHz."""
    return _said(units.megahertz, argument)


def _said(read: Callable[[str], T], argument: str) -> T:
    try:
        return read(argument)
    except UsageError as error:
        raise argparse.ArgumentTypeError(f"{error.what}: {error.hint}") from error


def link(argument: str) -> tuple[float, float]:
    """Read the speed of a link: bytes per second, and milliseconds."""
    return _said(units.line, argument)


def memory(argument: str) -> tuple[int, int | None]:
    """Read bytes of RAM and flash."""
    return _said(units.memory, argument)


def operators(argument: str) -> tuple[int, ...]:
    """Read numbers of operators, separated by commas."""
    return tuple(count(number) for number in argument.split(","))


def switches(argument: str) -> tuple[str, ...]:
    """Read names of techniques, separated by commas."""
    return tuple(name.strip() for name in argument.split(",") if name.strip())


def kinds(argument: str) -> tuple[str, ...]:
    """Read kinds of files to emit, separated by commas."""
    from tflm_memopt.emit import bundle  # noqa: PLC0415 # it imports all emitters, which --help does not need

    return _said(bundle.kinds, argument)


def size(argument: str) -> int:
    """Read a number of bytes."""
    return _said(units.size, argument)


def number(argument: str) -> int:
    """Read a whole number from 1."""
    return _said(units.number, argument)
