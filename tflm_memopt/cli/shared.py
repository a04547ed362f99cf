"""Code of the commands `explore` and `fit` that models, applications and several devices share."""

import argparse
import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rich.console import RenderableType

from tflm_memopt.answers.fits import Fits
from tflm_memopt.cli import arguments, console
from tflm_memopt.cli.progress import busy
from tflm_memopt.errors import DoesNotFit, UsageError, about
from tflm_memopt.files import write_files
from tflm_memopt.plan.effort import Progress
from tflm_memopt.report import svg, text
from tflm_memopt.report.drawing import Drawing
from tflm_memopt.targets.own_board import board


class Explored(Protocol):
    def to_json(self) -> dict[str, Any]: ...


R = TypeVar("R", bound=Explored)
Made = TypeVar("Made")
MOST_BOARDS = 10


def explored(
    args: argparse.Namespace,
    explore: Callable[[Progress], R],
    drawing: Callable[[R], Drawing],
    answer: Callable[[R, Sequence[str]], RenderableType],
    others: Callable[[R], Mapping[Path, bytes]] = lambda _: {},
) -> int:
    arguments.check_plot(args.plot)
    with about(args.model), busy(args, f"exploring {args.model.name}", lines=True) as progress:
        result = explore(progress)
    files: dict[Path, bytes] = {}
    if args.plot:
        files[args.plot] = svg.document(drawing(result)).encode()
    files |= others(result)
    written = write_files(files, [args.model])
    return console.answer(args, result.to_json, answer(result, list(map(str, written))))


def on_boards(args: argparse.Namespace, optimize: Callable[[str], Made]) -> dict[str, Made]:
    """Return the results for those named boards that are large enough, by the id of the board."""
    found: dict[str, Made] = {}
    for on, name in [(board(name), name) for name in args.boards]:
        with contextlib.suppress(DoesNotFit, UsageError):  # The answer of the command says what the board lacks.
            found |= {on.id: optimize(name)} if args.target is None else {}
    return found


def fitted(args: argparse.Namespace, found: Fits) -> int:
    """Return 0 if the model fits all named boards or, without named boards, at least one board."""
    shown = found.boards if args.all or args.boards else found.nearest(MOST_BOARDS)
    enough = all if args.boards else any
    fits = enough(row.rewritten.fits for row in found.boards)
    return console.answer(args, found.to_json, text.fits(found, shown), is_yes=fits)
