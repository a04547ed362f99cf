"""Ways to run a tiled group that take more bytes and less time: wider tiles, several pixels at once, and operators that
run row by row at its front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from tflm_memopt.format.limits import PACKED_PIXELS
from tflm_memopt.plan.effort import Budget, SearchPart
from tflm_memopt.plan.plan import Stage
from tflm_memopt.plan.search.groups import Candidate, Chain, in_rows, more_at_once, wider

Placed = TypeVar("Placed")


@dataclass(frozen=True, slots=True)
class Way:
    """A way to run a group."""

    group: Candidate
    nbytes: int
    """Lower bound of the head."""
    cost: float
    work: float
    """Work of finding bytes and cost (effort.py)."""


class Ways:
    """The known ways to run one group. More are tried as larger heads are asked for, and all are kept."""

    def __init__(self, chain: Chain, group: Candidate, price: Callable[[Candidate], Way], *, wide: bool) -> None:
        """group: the way of least bytes. wide: whether tiles may be widened and operators may run row by row."""
        self._chain, self._price, self._wide = chain, price, wide
        self._known = {group: price(group)}
        self._changed: set[Candidate] = set()

    def within(self, nbytes: int, place: Callable[[Candidate], Placed | None], budget: Budget) -> Placed | None:
        """Return the layout with the way of least cost in these bytes, or None.

        Each way that is the best so far is changed in all possible ways. place: returns a layout of the model that has
        at most `nbytes`, or None.
        """
        tried: dict[Candidate, Placed | None] = {}
        while True:
            found = None
            for way in sorted(self._known.values(), key=lambda way: (way.cost, way.nbytes)):
                if way.nbytes <= nbytes:
                    if way.group not in tried:
                        tried[way.group] = place(way.group)
                    if found := tried[way.group]:
                        break
            if found is None or way.group in self._changed or not budget.allows(SearchPart.BATCHES):
                return found
            self._changed.add(way.group)
            for other in self._changes(way.group):
                if other not in self._known:
                    self._known[other] = self._price(other)
                    budget.spend(self._known[other].work)

    def _changes(self, group: Candidate) -> Iterator[Candidate]:
        """Yield the group with more pixels computed at once by one stage or by the first ones, where pixels are small,
        and with more of its first operators in rows.
        """
        chain, count = self._chain, len(group.stages)
        pixels = [max(stage.nest.tile, stage.at_once) for stage in group.stages]
        for i, number in enumerate(pixels):
            yield more_at_once(group, chain, i, min(number + 1, PACKED_PIXELS))
        if self._wide:
            for first, last in (*((i, i + 1) for i in range(count)), *((0, last) for last in range(2, count + 1))):
                tiled = [pixels[i] for i in range(first, last) if group.stages[i].nest.tile]
                yield wider(group, chain, first, last, min(min(tiled, default=0) + 1, PACKED_PIXELS))
            for front in range(sum(map(_is_by_rows, group.stages)) + 1, count):
                yield in_rows(group, chain, front)


def _is_by_rows(stage: Stage) -> bool:
    return stage.nest.by_rows and not stage.iterative
