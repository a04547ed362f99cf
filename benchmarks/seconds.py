"""Measure the time of `optimize` without recompute and of a full `explore` for every model of a folder.

    python benchmarks/seconds.py DIR [--update FILE.md]

Seconds of processor time, one process; float borders are made int8 (`--int8-io`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tables import markdown, page_parser, publish

import tflm_memopt

MARK = "seconds"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """One model."""

    model: str
    operators: int
    optimize_seconds: float
    explore_seconds: float
    points: int
    """Points of the frontier."""


def row(path: Path) -> Row:
    data = path.read_bytes()
    optimized, optimizing = _timed(lambda: tflm_memopt.optimize(data, name=path.stem, int8_io=True))
    explored, exploring = _timed(lambda: tflm_memopt.explore(data, name=path.stem, int8_io=True))
    return Row(path.stem, len(optimized.inspection.operators), optimizing, exploring, len(explored.points))


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.process_time()
    result = work()
    return result, round(time.process_time() - began, 1)


def table(rows: Sequence[Row]) -> str:
    return markdown(
        ("model", "operators", "`optimize`, s", "`explore`, s", "points"),
        (
            (r.model, f"{r.operators}", f"{r.optimize_seconds:.1f}", f"{r.explore_seconds:.1f}", f"{r.points}")
            for r in rows
        ),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = page_parser(__doc__)
    parser.add_argument("models", type=Path, metavar="DIR", help="the folder of .tflite files")
    args = parser.parse_args(arguments)
    paths = sorted(args.models.glob("*.tflite"))
    if not paths:
        parser.error(f"no *.tflite files in {args.models}")
    publish(args.update, MARK, table([row(path) for path in paths]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
