"""Measure the processor time of `optimize --int8-io` and of `explore --int8-io` for each model of a folder."""

import time
from pathlib import Path

from tables import markdown, models

import tflm_memopt

TITLES = ("model", "operators", "`optimize`, s", "`explore`, s", "points")


def table(folder: Path) -> str:
    return markdown(TITLES, map(row, models(folder)))


def row(path: Path) -> list[str]:
    data = path.read_bytes()
    began = time.process_time()
    optimized = tflm_memopt.optimize(data, name=path.stem, int8_io=True)
    between = time.process_time()
    explored = tflm_memopt.explore(data, name=path.stem, int8_io=True)
    seconds = f"{between - began:.1f}", f"{time.process_time() - between:.1f}"
    return [path.stem, str(len(optimized.inspection.operators)), *seconds, str(len(explored.points))]
