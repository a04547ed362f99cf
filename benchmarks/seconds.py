"""Measure the processor time of `optimize` without recompute and of `explore` for every model of a folder.

`optimize` and `explore` convert float32 inputs and outputs to int8 (`--int8-io`).
"""

import time
from pathlib import Path

from tables import markdown, models

import tflm_memopt

TITLES = ("model", "operators", "`optimize`, s", "`explore`, s", "points")


def table(folder: Path) -> str:
    return markdown(TITLES, map(row, models(folder)))


def row(path: Path) -> list[str]:
    """Return a row of the table: a model's operators, the seconds, and the number of points of the frontier."""
    data = path.read_bytes()
    began = time.process_time()
    optimized = tflm_memopt.optimize(data, name=path.stem, int8_io=True)
    between = time.process_time()
    explored = tflm_memopt.explore(data, name=path.stem, int8_io=True)
    seconds = f"{between - began:.1f}", f"{time.process_time() - between:.1f}"
    return [path.stem, str(len(optimized.inspection.operators)), *seconds, str(len(explored.points))]
