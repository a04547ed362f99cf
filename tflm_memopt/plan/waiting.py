"""Estimates the remaining time of a conversion from the remaining work and the speed so far."""

import time
from collections.abc import Callable

from tflm_memopt.plan.effort import PER_OPERATOR, Spent, work_left

Progress = Callable[[str, int, int], None]
"""Function with three arguments: the current step, the number of completed parts, and the number of parts or 0 if
unknown.
"""
LEAST = 2.1


def tell(progress: Progress, spent: Spent, operators: int, layouts: float, searches: int, started: float) -> None:
    """The argument `layouts` is the time limit of the exact layouts of a plan, in seconds."""
    found = 0

    def groups_found() -> None:
        nonlocal found
        found += 1
        left = work_left(spent.seconds, operators, layouts, found, searches)
        # The estimate assumes that half of the work outside the searches is done.
        pace = (time.monotonic() - started) / (spent.seconds + PER_OPERATOR * operators / 2)
        if spent.seconds + left >= LEAST:
            progress(f"placing buffers, about {max(1, round(pace * left))} s left", 0, 0)

    spent.groups_found = groups_found
