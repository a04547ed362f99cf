"""Print the answer of `fit` for a model or an application."""

from __future__ import annotations

import argparse

from tflm_memopt.cli import console
from tflm_memopt.report import markdown, text
from tflm_memopt.results import Fits

MOST_BOARDS = 10
"""Number of boards that are shown without --all and --board."""


def fitted(args: argparse.Namespace, found: Fits) -> int:
    """Print the boards. Return 0 if the model fits all boards that were named or, if none was, any board."""
    shown = found.boards if args.all or args.boards else found.nearest(MOST_BOARDS)
    console.answer(args, found.to_json, (markdown if args.markdown else text).fits(found, shown))
    enough = all if args.boards else any
    return console.DONE if enough(row.rewritten.fits for row in found.boards) else console.NO
