"""The types of the command line's arguments, for argparse."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

from tflm_memopt import units
from tflm_memopt.errors import UsageError
from tflm_memopt.plan.effort import factor as times

T = TypeVar("T")


def count(argument: str) -> int:
    """A whole number from 0."""
    if not argument.isascii() or not argument.isdigit():
        raise argparse.ArgumentTypeError(f"'{argument}' is not a whole number from 0")
    return int(argument)


def factor(argument: str) -> float:
    """A finite number above 0."""
    try:
        value = float(argument)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{argument}' is no factor: 1.1 is 10 % more than the original")
    return value


def effort(argument: str) -> str:
    """A level or a factor."""
    _said(times, argument)
    return argument


def time(argument: str) -> float:
    """Milliseconds."""
    return _said(units.milliseconds, argument)


def clock(argument: str) -> float:
    """MHz."""
    return _said(units.megahertz, argument)


def _said(read: Callable[[str], T], argument: str) -> T:
    try:
        return read(argument)
    except UsageError as error:
        raise argparse.ArgumentTypeError(f"{error.what}: {error.hint}") from error


def link(argument: str) -> tuple[float, float]:
    """Bytes a second, and milliseconds."""
    return _said(units.line, argument)


def memory(argument: str) -> tuple[int, int | None]:
    """Bytes of RAM and flash."""
    return _said(units.memory, argument)


def operators(argument: str) -> tuple[int, ...]:
    """Numbers with commas between them."""
    return tuple(count(number) for number in argument.split(","))


def switches(argument: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(name.strip() for name in argument.split(",") if name.strip())


def kinds(argument: str) -> tuple[str, ...]:
    """What to emit: names with commas between them."""
    from tflm_memopt.emit import bundle  # noqa: PLC0415 # all emitters, which --help does not need

    return _said(bundle.kinds, argument)


def size(argument: str) -> int:
    """Bytes."""
    return _said(units.size, argument)


def number(argument: str) -> int:
    """A whole number from 1."""
    return _said(units.number, argument)
