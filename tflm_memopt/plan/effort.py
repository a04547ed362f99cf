"""How much work a search may do: counted, not timed, so that a plan does not depend on the machine or on its load.

Work is counted in seconds of processor time as a core of about 2.6 GHz takes them, from what drives it: pairs of
buffers that a layout compares, entries of a block's trace, CP-SAT's deterministic time. The constants are measured;
they need to be right within a factor, never to the digit. A search that has spent what it may keeps the best it found.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tflm_memopt.errors import UsageError, one_of

MOST, LEAST, PER_OPERATOR = 8.5, 2.5, 0.007
"""Seconds at normal effort: of a conversion, for its search at least, and of each operator for what is no search: to
read, check, lower and report it."""
ORDERING, SEARCH, PLACING = 0.05, 0.6, 0.2
"""Shares of a search: for orders of operators, for what finds blocks, and for what gives single blocks addresses. The
layout of the whole model has what is left.
"""
FIRST = 0.75
"""Share that the first of several orders may spend: the others are measured against what it leads to."""
GENEROUS = 4
"""Times its fair part that one of many may spend."""
NORMAL = "normal"
LEVELS: Mapping[str, float] = {"low": 0.2, NORMAL: 1.0, "high": 10.0}
"""Effort by name: a factor."""
LAYOUTS = 2.4
"""Seconds of work that a plan takes once its blocks are found, for each second of its exact layouts."""
EXACT = 0.5
"""Limit of one exact layout of a whole model at normal effort: deterministic time of CP-SAT."""


def factor(effort: float | str) -> float:
    """The factor of an effort that has a name, or the number itself; UsageError for what is neither.

    >>> factor("high"), factor("2.5"), factor(0.1)
    (10.0, 2.5, 0.1)
    """
    try:
        found = LEVELS[effort] if effort in LEVELS else float(effort)  # type: ignore[index]
    except ValueError:
        found = 0.0
    if not 0 < found < math.inf:
        hint = f"{one_of(str(effort), LEVELS)}, or a number: 2 is twice"
        raise UsageError(f"'{effort}' is no effort", code="unknown_effort", hint=hint)
    return found


def allowance(operators: int, effort: float = 1.0) -> float:
    """Seconds that the search for the plans of a model of so many operators may spend: all orders, a plan of each.

    >>> allowance(100), allowance(100, effort=10)
    (7.8, 78.0)
    """
    return effort * max(LEAST, MOST - PER_OPERATOR * operators)


def work_left(spent: float, operators: int, layouts: float, found: int, searches: int) -> float:
    """Seconds of work until a conversion ends, about, when so many of its searches have found their blocks.

    spent: so far. layouts: seconds of exact layouts that a plan may take; some take none, some all.

    >>> work_left(1.0, 100, 0.5, found=1, searches=1), work_left(1.0, 100, 0.5, found=1, searches=2)
    (1.9, 4.1)
    """
    placing = LAYOUTS * layouts
    return round(PER_OPERATOR * operators + placing + (searches - found) * (spent / found + placing), 3)


class SearchPart(str, enum.Enum):
    """Parts of a search that may be cut short, as reports name them."""

    ORDERS = "orders of operators"
    ROW_BLOCKS = "row blocks"
    TILED_BLOCKS = "tiled blocks"
    TURNED_BLOCKS = "turned blocks"
    BLOCK_LAYOUTS = "layouts of single blocks"
    LAYOUT = "the layout of the whole model"


@dataclass
class Log:
    """What a search did."""

    seconds: float = 0.0
    """Seconds of work that were spent."""
    cut: dict[SearchPart, None] = field(default_factory=dict)
    """Parts that were cut short, in the order in which they ended."""
    found: Callable[[], None] = lambda: None
    """Called when a search has found its blocks."""


class Meter:
    """A budget of work, of which parts are handed out. What a part of it spends, it spends, and notes in its log."""

    def __init__(self, seconds: float = math.inf, log: Log | None = None, parent: Meter | None = None) -> None:
        """`parent`: of which it is a part."""
        self._left, self._parent, self.log = seconds, parent, log or Log()

    @property
    def left(self) -> float:
        """Seconds that may still be spent; below 0 where the last piece of work took more."""
        return min(self._left, self._parent.left) if self._parent else self._left

    def share(self, seconds: float) -> Meter:
        """A part of at most so many seconds."""
        return Meter(min(seconds, self.left), self.log, self)

    def fair(self, waiting: int) -> Meter:
        """A part for the next of so many that wait: what is its due, or some times that, as most take less."""
        return self.share(self.left * min(1.0, GENEROUS / waiting))

    def next(self, waiting: int) -> Meter:
        """A part for the next of so many that wait, the first of which counts most."""
        return self.share(self.left * (FIRST if waiting > 1 else 1.0))

    def spend(self, seconds: float) -> None:
        """Work that was done."""
        self._left -= seconds
        if self._parent:
            self._parent.spend(seconds)
        else:
            self.log.seconds += seconds

    def allows(self, part: SearchPart, seconds: float = 0.0) -> bool:
        """Whether so much more may be spent. Where it may not, the part counts as cut short."""
        if self.left > seconds:
            return True
        self.log.cut[part] = None
        return False
