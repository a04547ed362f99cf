"""Limits how long planning takes, in counted work instead of time, so that every machine makes the same plan.

The unit of work is the second on a core of about 2.6 GHz. Work is counted in compared buffers, in simulated iterations,
and in CP-SAT's deterministic time. Rough constants suffice to convert counts to seconds. A search without budget left
returns the best result so far.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tflm_memopt.errors import UsageError, one_of

MOST, LEAST, PER_OPERATOR = 8.5, 2.5, 0.007
"""Seconds at normal effort: budget of a conversion, minimum of its search, and other work per operator."""
ORDERING, SEARCH, PLACING = 0.05, 0.6, 0.2
"""Fractions of the search budget for ordering operators, finding groups, and placing single groups."""
FIRST = 0.75
"""Fraction of the remaining search budget for the next operator order, if further orders follow it."""
GENEROUS = 4
"""If several searches share a budget, each may spend up to this multiple of an equal part."""
NORMAL = "normal"
LEVELS: Mapping[str, float] = {"low": 0.2, NORMAL: 1.0, "high": 10.0}
HIGHEST = 1000
LAYOUTS = 2.4
"""Ratio of all work after the search to the time of exact layouts, both in seconds."""
EXACT = 0.5
"""Time limit of one exact layout of a whole model at normal effort, in CP-SAT's deterministic seconds."""


def factor(effort: float | str) -> float:
    """Return the factor of the budget, given by name or as a number. Raises UsageError for other values.

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
    """Return the seconds for all orders and plans of a model with this number of operators.

    >>> allowance(100), allowance(100, effort=10)
    (7.8, 78.0)
    """
    return effort * max(LEAST, MOST - PER_OPERATOR * operators)


def work_left(spent: float, operators: int, layouts: float, found: int, searches: int) -> float:
    """Estimate the remaining seconds of a conversion, of whose `searches` searches `found` are complete.

    `spent` are the seconds so far. `layouts` are the maximum seconds to find the exact layouts of a plan.

    >>> work_left(1.0, 100, 0.5, found=1, searches=1), work_left(1.0, 100, 0.5, found=1, searches=2)
    (1.9, 4.1)
    """
    placing = LAYOUTS * layouts
    return round(PER_OPERATOR * operators + placing + (searches - found) * (spent / found + placing), 3)


class SearchPart(str, enum.Enum):
    """Parts of a search that can run out of budget, with their names in reports."""

    ORDERS = "orders of operators"
    ROW_GROUPS = "row groups"
    TILED_GROUPS = "tiled groups"
    REVERSED_GROUPS = "reversed groups"
    GROUP_LAYOUTS = "layouts of single groups"
    BATCHES = "pixels that are computed at once"
    LAYOUT = "the layout of the whole model"


@dataclass
class Spent:
    seconds: float = 0.0
    cut_short: dict[SearchPart, None] = field(default_factory=dict)
    groups_found: Callable[[], None] = lambda: None


class Budget:
    """Limits the counted work of a search. Work that is charged to a part of a budget is also charged to the whole."""

    def __init__(self, seconds: float = math.inf, spent: Spent | None = None, parent: Budget | None = None) -> None:
        self._left, self._parent, self.spent = seconds, parent, spent or Spent()

    @property
    def left(self) -> float:
        """Remaining seconds, which are negative if the last piece of work exceeded the budget."""
        return min(self._left, self._parent.left) if self._parent else self._left

    def share(self, seconds: float) -> Budget:
        return Budget(min(seconds, self.left), self.spent, self)

    def fair(self, waiting: int) -> Budget:
        """Return the budget for the next of `waiting` searches, which is up to GENEROUS times an equal part."""
        return self.share(self.left * min(1.0, GENEROUS / waiting))

    def next(self, waiting: int) -> Budget:
        """Return the next search's budget: the whole rest for the last search, and otherwise the rest times FIRST."""
        return self.share(self.left * (FIRST if waiting > 1 else 1.0))

    def spend(self, seconds: float) -> None:
        self._left -= seconds
        if self._parent:
            self._parent.spend(seconds)
        else:
            self.spent.seconds += seconds

    def allows(self, part: SearchPart, seconds: float = 0.0) -> bool:
        """Return whether `seconds` more may be spent, and record the name of the part if the budget is too small."""
        if self.left > seconds:
            return True
        self.spent.cut_short[part] = None
        return False


UNBOUNDED = Budget()
