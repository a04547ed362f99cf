"""Checks and converts the command line's arguments for argparse."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from tflm_memopt.errors import UsageError

T = TypeVar("T")
ALONE = ("plan", "plot", "inputs", "calibrate", "test", "labels", "manifest")
OF_ONE = ("c", "cores", "reset_every", "steps")
"""Flags of the command `verify` that require a single rewritten model."""


def refuse(args: argparse.Namespace, flags: Iterable[str], are_for: str, hint: str) -> None:
    """Raise UsageError if the user set a flag that the argument `flags` names. The argument `are_for` names the cases
    in which the flags are allowed.
    """
    for flag in flags:
        if getattr(args, flag):
            raise UsageError(f"--{flag.replace('_', '-')} is for {are_for}", hint=hint)


def count(argument: str) -> int:
    if not argument.isascii() or not argument.isdigit():
        raise argparse.ArgumentTypeError(f"'{argument}' is not a whole number: give 0, 1, 2 or more")
    return int(argument)


def check_plot(plot: Path | None) -> None:
    if plot and plot.suffix.lower() != ".svg":
        raise UsageError(f"a plot is an .svg file, but {plot} is not", hint=f"--plot {plot.stem}.svg")


def path(argument: str) -> Path:
    if not argument:  # For an empty text, Path() returns the current folder.
        raise argparse.ArgumentTypeError("the path is empty: give a path, and '.' for the current folder")
    return Path(argument)


def folder(argument: str) -> Path:
    found = path(argument)
    if found.suffix == ".tflite" and not found.is_dir():
        raise argparse.ArgumentTypeError(f"'{argument}' is the name of a file: give a folder for several files")
    return found


def reading(read: Callable[[str], T]) -> Callable[[str], T]:
    """Return a function for argparse that converts a command-line argument with the function `read`."""

    def read_argument(argument: str) -> T:
        try:
            return read(argument)
        except UsageError as error:
            raise argparse.ArgumentTypeError(f"{error.what}: {error.hint}") from error

    return read_argument


def operators(argument: str) -> tuple[int, ...]:
    return tuple(count(number) for number in argument.split(","))


def kinds(argument: str) -> tuple[str, ...]:
    # The emitters are imported only when needed, because the import is slow.
    from tflm_memopt.emit import bundle  # noqa: PLC0415

    return reading(bundle.kinds)(argument)
