"""Writes the files and prints the answer of `explore` for a model, an application or several devices."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rich.console import RenderableType

from tflm_memopt.cli import arguments, console
from tflm_memopt.cli.progress import busy
from tflm_memopt.errors import about
from tflm_memopt.files import write_files
from tflm_memopt.plan.waiting import Progress
from tflm_memopt.report import svg
from tflm_memopt.report.drawing import Drawing


class Explored(Protocol):
    def to_json(self) -> dict[str, Any]: ...


R = TypeVar("R", bound=Explored)


def explored(
    args: argparse.Namespace,
    explore: Callable[[Progress], R],
    drawing: Callable[[R], Drawing],
    answer: Callable[[R, Sequence[str]], RenderableType],
    others: Callable[[R], Mapping[Path, bytes]] = lambda _: {},
) -> int:
    """Explore, write the plot and other files, and print the answer with the names of these files."""
    arguments.check_plot(args.plot)
    with about(args.model), busy(args, f"exploring {args.model.name}", lines=True) as progress:
        result = explore(progress)
    files: dict[Path, bytes] = {}
    if args.plot:
        files[args.plot] = svg.document(drawing(result)).encode()
    files |= others(result)
    written = write_files(files, [args.model])
    console.answer(args, result.to_json, answer(result, list(map(str, written))))
    return console.DONE
