"""Finds variants of a group that need more bytes but less time, such as wider tiles."""

import heapq
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tflm_memopt.format.limits import PACKED_PIXELS
from tflm_memopt.plan.effort import Budget, SearchPart
from tflm_memopt.plan.plan import Stage
from tflm_memopt.plan.search.groups import (
    Candidate,
    Chain,
    in_rows,
    members_of,
    more_at_once,
    scratch_sizes,
    wider,
    with_more_room,
)

Placed = TypeVar("Placed")
MARGIN = 1 / 64
"""The search skips a variant if a narrower variant exceeds the limit in bytes by more than the fraction MARGIN."""


@dataclass(frozen=True, slots=True)
class GroupForm:
    """A variant of a group of operators. All variants of a group compute the same results."""

    group: Candidate
    cost: float
    nbytes: int = 0
    """Minimum number of bytes of a plan with the variant `group`."""
    work: float | None = None
    """Estimated seconds for the computation of the cost, or None while `cost` is only a lower bound."""


class GroupForms:
    def __init__(
        self,
        chain: Chain,
        group: Candidate,
        least: Callable[[Candidate], float],
        price: Callable[[GroupForm, int], GroupForm],
        *,
        wide: bool,
    ) -> None:
        """The argument `group` is the variant of the group that needs the fewest bytes.

        The argument `least` is a function that returns a lower bound of a variant's cost. The argument `price` is a
        function that returns a variant with its cost. If a variant needs too many bytes, `price` may return a lower
        bound of the bytes.
        """
        self._chain, self._least, self._price, self._wide = chain, least, price, wide
        self._known = {group: GroupForm(group, least(group))}
        self._changed: set[Candidate] = set()
        self._large: dict[Sequence[bool], list[tuple[Sequence[int], int]]] = defaultdict(list)

    def within(self, nbytes: int, place: Callable[[Candidate], Placed | None], budget: Budget) -> Placed | None:
        """Return the layout of the cheapest variant that fits in `nbytes` bytes, or None.

        The function `place` returns a layout of the whole model if the layout needs at most `nbytes` bytes, and
        otherwise None.
        """
        tried: dict[Candidate, Placed | None] = {}
        while True:
            found = None
            for form in self._cheapest(nbytes, budget):
                if form.group not in tried:
                    tried[form.group] = place(form.group)
                if found := tried[form.group]:
                    break
            if found is None or form.group in self._changed or not budget.allows(SearchPart.BATCHES):
                return found
            self._changed.add(form.group)
            for other in self._changes(form.group):
                if other not in self._known:
                    self._known[other] = GroupForm(other, self._least(other))

    def _cheapest(self, nbytes: int, budget: Budget) -> Iterator[GroupForm]:
        waiting = [
            (form.cost, -1 if form.work is None else form.nbytes, number, form)
            for number, form in enumerate(self._known.values())
            if form.nbytes <= nbytes
        ]
        heapq.heapify(waiting)
        while waiting:
            *_, number, form = heapq.heappop(waiting)
            if form.work is not None:
                yield form
                continue
            by_rows, widths = tuple(s.nest.by_rows for s in form.group.stages), _widths(form.group, self._chain)
            large, most = self._large[by_rows], nbytes + MARGIN * nbytes
            if any(least > most and all(map(operator.le, narrow, widths)) for narrow, least in large):
                continue
            form = self._known[form.group] = self._price(form, nbytes)
            budget.spend(form.work or 0.0)
            if form.nbytes <= nbytes:
                heapq.heappush(waiting, (form.cost, form.nbytes, number, form))
            else:
                large.append((widths, form.nbytes))

    def _changes(self, group: Candidate) -> Iterator[Candidate]:
        chain, count = self._chain, len(group.stages)
        pixels = [max(stage.nest.tile, stage.at_once) for stage in group.stages]
        for i, number in enumerate(pixels):
            yield more_at_once(group, chain, i, min(number + 1, PACKED_PIXELS))
            yield with_more_room(group, chain, i)
        if self._wide:
            for first, last in (*((i, i + 1) for i in range(count)), *((0, last) for last in range(2, count + 1))):
                tiled = [pixels[i] for i in range(first, last) if group.stages[i].nest.tile]
                yield wider(group, chain, first, last, min(min(tiled, default=0) + 1, PACKED_PIXELS))
            same_scratch = max(1, *(member.scratch_bytes for member in members_of(chain, group)[0]))
            for front in range(sum(map(_is_by_rows, group.stages)) + 1, count + 1):
                yield in_rows(group, chain, front)
                yield in_rows(group, chain, front, same_scratch)
            for scratch in scratch_sizes(group, chain):
                yield in_rows(group, chain, count, scratch)


def _is_by_rows(stage: Stage) -> bool:
    return stage.nest.by_rows and not stage.iterative


def _widths(group: Candidate, chain: Chain) -> Sequence[int]:
    """Return three numbers of pixels for each stage: its tile width, the pixels that it computes at once, and the
    pixels that fit into its scratch.
    """
    nests = [stage.nest for stage in group.stages]
    at_once = [max(nest.tile, stage.at_once) for nest, stage in zip(nests, group.stages, strict=True)]
    stages = zip(group.stages, chain.ops[group.first : group.last], strict=True)
    room = (0 if stage.reads_in_place(op) else stage.pixels or PACKED_PIXELS for stage, op in stages)
    return [*(nest.tile for nest in nests), *at_once, *room]
