"""Write a frontier as comma-separated values."""

from __future__ import annotations

import csv as writer
import io
from collections.abc import Iterable, Sequence
from typing import Any

from tflm_memopt.results import Exploration

COLUMNS = ("overhead", "macs", "instructions", "head", "tail", "total", "min", "groups", "tiled", "rematerialisations")
ON_BOARD = ("ram_left", "flash_left")
"""Additional columns for the RAM and flash that a point leaves free on a board."""


def separated(rows: Iterable[Sequence[Any]]) -> str:
    r"""Return rows as comma-separated values.

    >>> separated([("plan", "macs"), (0, 12)])
    'plan,macs\n0,12\n'
    """
    page = io.StringIO()
    writer.writer(page, lineterminator="\n").writerows(rows)
    return page.getvalue()


def csv(result: Exploration) -> str:
    """Return a line for each point, least compute first. They follow a line for TFLM today, which has no groups."""
    before, left = result.original_arena, ON_BOARD if result.board else ()
    counted = "" if result.original_instructions is None else result.original_instructions
    today = (1.0, result.original_macs, counted, before.head, before.tail, before.total, before.min, 0, 0, 0)
    slow = ("slow",) if result.slow else ()
    rows: list[Sequence[Any]] = [("plan", *COLUMNS, *slow, *left), ("tflm", *today, *("" for _ in (*slow, *left)))]
    for number, p in enumerate(result.points):
        a, kinds = p.arena, (p.groups, p.tiled, p.rematerialisations)
        outside = (p.memories.slow if p.memories else 0 for _ in slow)
        compute = (round(p.overhead, 6), p.macs, p.instructions)
        rows.append((number, *compute, a.head, a.tail, a.total, a.min, *kinds, *outside, *(p.left or ())))
    return separated(rows)
