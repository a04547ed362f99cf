"""Limits the effort of planning. Effort is counted in work, so that every machine makes the same plan. The unit of work
is a second on a core of about 2.6 GHz.
"""

from __future__ import annotations

import enum
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tflm_memopt.errors import UsageError, one_of

MOST, LEAST, PER_OPERATOR = 8.5, 2.5, 0.007
"""Search time at normal effort, in seconds: MOST minus PER_OPERATOR for each operator, but at least LEAST."""
ORDERING, SEARCH, PLACING = 0.05, 0.6, 0.2
"""Fractions of a time budget for ordering operators, for finding groups, and for layouts of single groups."""
FIRST = 0.75
"""If more operator orders follow, the search in one order may spend the fraction FIRST of the remaining budget."""
GENEROUS = 4
"""If several searches divide a budget, each search may spend an equal part, multiplied by GENEROUS."""
NORMAL = "normal"
LEVELS: Mapping[str, float] = {"low": 0.2, NORMAL: 1.0, "high": 10.0}
HIGHEST = 1000
LAYOUTS = 2.4
"""Planning time after the search, divided by the time for exact layouts."""
EXACT = 0.5
"""Time limit of an exact layout of a whole model at normal effort, in CP-SAT's deterministic seconds."""


def factor(effort: float | str) -> float:
    """Return the factor by which the option `--effort` multiplies the budget. Raises UsageError for an unknown name and
    for a number out of range.

    >>> factor("high"), factor("2.5"), factor(0.1)
    (10.0, 2.5, 0.1)
    """
    try:
        found = LEVELS[effort] if effort in LEVELS else float(effort)  # type: ignore[index]
    except ValueError:
        found = 0.0
    if not 0 < found <= HIGHEST:
        hint = f"{one_of(str(effort), LEVELS)}, or a number up to {HIGHEST}: 2 is twice"
        raise UsageError(f"invalid effort '{effort}'", code="bad_option", hint=hint)
    return found


def allowance(operators: int, effort: float = 1.0) -> float:
    """Return the time budget in seconds for planning a model with `operators` operators.

    >>> allowance(100), allowance(100, effort=10)
    (7.8, 78.0)
    """
    return effort * max(LEAST, MOST - PER_OPERATOR * operators)


def work_left(spent: float, operators: int, layouts: float, found: int, searches: int) -> float:
    """Estimate the remaining seconds of a conversion that has completed `found` of its `searches` searches.

    The argument `layouts` is the time limit for the exact layouts of a plan, in seconds.

    >>> work_left(1.0, 100, 0.5, found=1, searches=1), work_left(1.0, 100, 0.5, found=1, searches=2)
    (1.9, 4.1)
    """
    placing = LAYOUTS * layouts
    return round(PER_OPERATOR * operators + placing + (searches - found) * (spent / found + placing), 3)


class SearchPart(str, enum.Enum):
    ORDERS = "orders of operators"
    ROW_GROUPS = "row groups"
    TILED_GROUPS = "tiled groups"
    REVERSED_GROUPS = "reversed groups"
    GROUP_LAYOUTS = "layouts of single groups"
    SLOW_MEMORY = "tensors in slow memory"
    BATCHES = "pixels that are computed at once"
    LAYOUT = "the layout of the whole model"


@dataclass
class Spent:
    seconds: float = 0.0
    cut_short: dict[SearchPart, None] = field(default_factory=dict)
    groups_found: Callable[[], None] = lambda: None


class Budget:
    """A limit for the work of a search, in seconds. Work that is spent from a part of a budget is also spent from the
    whole budget.
    """

    def __init__(self, seconds: float = math.inf, spent: Spent | None = None, parent: Budget | None = None) -> None:
        self._left, self._parent, self.spent = seconds, parent, spent or Spent()

    @property
    def left(self) -> float:
        """The remaining seconds can be negative, because a search notices an exhausted budget late."""
        return min(self._left, self._parent.left) if self._parent else self._left

    def share(self, seconds: float) -> Budget:
        return Budget(min(seconds, self.left), self.spent, self)

    def fair(self, waiting: int) -> Budget:
        return self.share(self.left * min(1.0, GENEROUS / waiting))

    def next(self, waiting: int) -> Budget:
        return self.share(self.left * (FIRST if waiting > 1 else 1.0))

    def spend(self, seconds: float) -> None:
        self._left -= seconds
        if self._parent:
            self._parent.spend(seconds)
        else:
            self.spent.seconds += seconds

    def allows(self, part: SearchPart, seconds: float = 0.0) -> bool:
        """Return whether more than `seconds` seconds are left, and if not, record that `part` was shortened."""
        if self.left > seconds:
            return True
        self.spent.cut_short[part] = None
        return False


UNBOUNDED = Budget()
Progress = Callable[[str, int, int], None]
"""Function with three arguments: the current step, the number of completed parts, and the number of parts or 0 if
unknown.
"""
LEAST_TOLD = 2.1
"""Least estimated time of a conversion, in seconds, for which the progress display states how many seconds are left."""


def tell_time_left(
    progress: Progress, spent: Spent, operators: int, layouts: float, searches: int, started: float
) -> None:
    """Tell the remaining time after each search, estimated from the remaining work and the speed so far."""
    found = 0

    def groups_found() -> None:
        nonlocal found
        found += 1
        left = work_left(spent.seconds, operators, layouts, found, searches)
        # The estimate assumes that half of the work outside the searches is done.
        pace = (time.monotonic() - started) / (spent.seconds + PER_OPERATOR * operators / 2)
        if spent.seconds + left >= LEAST_TOLD:
            progress(f"placing buffers, about {max(1, round(pace * left))} s left", 0, 0)

    spent.groups_found = groups_found
