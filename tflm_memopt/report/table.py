"""A frontier as comma-separated values."""

from __future__ import annotations

import csv as writer
import io

from tflm_memopt.results import Exploration

COLUMNS = ("overhead", "macs", "instructions", "head", "tail", "total", "min", "blocks", "tiled", "second_passes")


def csv(result: Exploration) -> str:
    """One line for each point, least compute first, after one for TFLM today, which has no blocks."""
    page = io.StringIO()
    lines = writer.writer(page, lineterminator="\n")
    before = result.original_arena
    lines.writerow(("plan", *COLUMNS))
    lines.writerow(("tflm", 1.0, result.original_macs, "", before.head, before.tail, before.total, before.min, 0, 0, 0))
    for number, p in enumerate(result.points):
        a, kinds = p.arena, (p.blocks, p.tiled, p.second_passes)
        lines.writerow((number, round(p.overhead, 6), p.macs, p.instructions, a.head, a.tail, a.total, a.min, *kinds))
    return page.getvalue()
