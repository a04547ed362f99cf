"""Prints the answer of `fit` for a model or an application."""

import argparse
import contextlib
from collections.abc import Callable
from typing import TypeVar

from tflm_memopt.answers.fits import Fits
from tflm_memopt.cli import console
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.report import text
from tflm_memopt.targets.own_board import board

Made = TypeVar("Made")

MOST_BOARDS = 10


def on_boards(args: argparse.Namespace, optimize: Callable[[str], Made]) -> dict[str, Made]:
    """Return the result for each named board that is large enough, by id. Raises UsageError for an unknown board."""
    found: dict[str, Made] = {}
    for on, name in [(board(name), name) for name in args.boards]:
        with contextlib.suppress(DoesNotFit, UsageError):  # The answer says what the board lacks.
            found |= {on.id: optimize(name)} if args.target is None else {}
    return found


def fitted(args: argparse.Namespace, found: Fits) -> int:
    """Print the boards. Return 0 if the model fits all named boards or, if none was named, at least one board."""
    shown = found.boards if args.all or args.boards else found.nearest(MOST_BOARDS)
    console.answer(args, found.to_json, text.fits(found, shown))
    enough = all if args.boards else any
    return console.DONE if enough(row.rewritten.fits for row in found.boards) else console.NO
