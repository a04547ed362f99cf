"""Measure the processor time of `optimize` without recompute and of `explore` for every model of a folder.

Both commands convert float32 inputs and outputs to int8 (`--int8-io`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tables import markdown, models

import tflm_memopt

TITLES = ("model", "operators", "`optimize`, s", "`explore`, s", "points")
T = TypeVar("T")


def table(folder: Path) -> str:
    return markdown(TITLES, map(row, models(folder)))


def row(path: Path) -> list[str]:
    """Return the cells of a model in the table: operators, seconds, and points of the frontier."""
    data = path.read_bytes()
    optimized, optimizing = _timed(lambda: tflm_memopt.optimize(data, name=path.stem, int8_io=True))
    explored, exploring = _timed(lambda: tflm_memopt.explore(data, name=path.stem, int8_io=True))
    seconds = f"{optimizing:.1f}", f"{exploring:.1f}"
    return [path.stem, str(len(optimized.inspection.operators)), *seconds, str(len(explored.points))]


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.process_time()
    result = work()
    return result, time.process_time() - began
