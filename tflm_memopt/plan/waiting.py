"""How long a conversion will still take: the work that is left, at the pace of the work that is done.

The work is counted (plan/effort.py), so that only the pace depends on the machine and its load.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tflm_memopt.plan.effort import PER_OPERATOR, Log, work_left

Progress = Callable[[str, int, int], None]
"""What is being done, how many steps of it are done, and of how many; 0: nobody knows."""
LEAST = 2.1
"""Seconds of work that a whole conversion seems to take, below which nobody needs to be told."""


def tell(progress: Progress, log: Log, operators: int, layouts: float, searches: int, started: float) -> None:
    """From now on, `progress` is told what is left whenever a search has found its blocks.

    layouts: seconds of exact layouts that a plan may take. searches: that the conversion makes. started: when it began,
    by time.monotonic().
    """
    found = 0

    def blocks_found() -> None:
        nonlocal found
        found += 1
        left = work_left(log.seconds, operators, layouts, found, searches)
        pace = (time.monotonic() - started) / (log.seconds + PER_OPERATOR * operators / 2)  # half comes before
        if log.seconds + left >= LEAST:
            progress(f"placing buffers, about {max(1, round(pace * left))} s left", 0, 0)

    log.found = blocks_found
