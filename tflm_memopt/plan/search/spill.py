"""Divides a region into groups within a limit of fast memory, with some tensors in slow memory.

A partial solution consists of the groups of the region's first operators, and of the tensors that these groups leave in
slow memory. The cost of a solution is the time of its accesses to slow memory. Rolling buffers, sums and scratch are
always in fast memory. A group with tensors in slow memory gets a layout as soon as the search finds the group. Any
other group gets a layout only in the best division.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain as joined
from itertools import combinations

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.effort import Budget, SearchPart
from tflm_memopt.plan.iteration.trace import Member
from tflm_memopt.plan.iteration.traffic import bytes_read
from tflm_memopt.plan.search.groups import Candidate, Chain, border

Slow = frozenset[TensorId]
PlaceFast = Callable[[Candidate, Slow], int]
"""Function that places a group's buffers in fast memory, and returns their size. Buffers in slow memory are left out.
"""
MOST_CHOSEN = 3
"""If a group has more than MOST_CHOSEN outputs, either all outputs or no outputs are in slow memory."""
MOST_KEPT, LEAST_KEPT = 64, 4
"""For each n, the search keeps about MOST_KEPT partial solutions of the first n operators, or LEAST_KEPT when its
budget is spent.
"""
EXTENSION_SECONDS = 10e-6
"""Time for extending a partial solution by a group, in seconds."""


@dataclass(frozen=True, slots=True)
class SlowCost:
    """Cycles for reading a byte of slow memory, and cycles for writing a byte of slow memory."""

    read: float = 1.0
    write: float = 1.0


@dataclass(frozen=True, slots=True)
class Spill:
    cost: float = 0.0
    spread: int = 0
    """Sum of the bytes of all groups. Among solutions of equal cost, the search prefers the solution whose groups need
    the fewest bytes in total.
    """
    here: Slow = frozenset()
    last: Bordered | None = None
    slow: Slow = frozenset()
    before: Spill | None = None

    def steps(self) -> Iterator[tuple[Bordered, Slow]]:
        label: Spill | None = self
        while label and label.last:
            yield label.last, label.slow
            label = label.before


@dataclass(frozen=True, eq=False)
class Bordered:
    group: Candidate
    dying: Slow
    born: tuple[Slow, ...]
    touched: Slow
    reads: Sequence[tuple[TensorId, Member, int]]
    """For each read of a tensor that may be in slow memory: the tensor, the reader, and the operand's index."""

    @cached_property
    def bytes_read(self) -> Mapping[TensorId, int]:
        found: dict[TensorId, int] = {}
        for tensor, member, k in self.reads:
            found[tensor] = found.get(tensor, 0) + bytes_read(member, k, np.arange(len(member.iterations)))
        return found


class Spilling:
    def __init__(
        self, chain: Chain, table: Mapping[int, Sequence[Candidate]], allowed: Slow, cost: SlowCost, place: PlaceFast
    ) -> None:
        self.chain, self._cost, self._place = chain, cost, place
        self._sizes, self._allowed = chain.sizes, allowed & chain.sizes.keys()
        self._table = {last: [*map(self._bordered, _smallest(groups))] for last, groups in table.items()}
        self._labels: list[dict[Slow, Spill]] = []
        self._placed: dict[Bordered, dict[Slow, int]] = defaultdict(dict)

    def within(self, limit: int, budget: Budget) -> Spill | None:
        """Return a solution of low cost whose groups need at most `limit` bytes of fast memory, or None if the search
        finds none.
        """
        self._labels = [{frozenset(): Spill()}]
        while found := self._cheapest(limit, budget):
            new = [(group, slow & group.touched) for group, slow in found.steps()]
            new = [(group, touched) for group, touched in new if touched not in self._placed[group]]
            if not new:
                return found
            for group, touched in new:
                self._placed[group][touched] = self._place(group.group, touched)
            del self._labels[min(group.group.last for group, _ in new) :]
        return None

    def worst(self, spill: Spill) -> int:
        return max(self._fast_bytes(group, slow)[1] for group, slow in spill.steps())

    def _bordered(self, group: Candidate) -> Bordered:
        ops = self.chain.ops[group.first : group.last]
        edge = border(self.chain, group.first, group.last)
        there = self._allowed.intersection((*edge.dying, *edge.born, *edge.through))
        reads = [
            (t, Member(stage, op, group.stripes), k)
            for stage, op in zip(group.stages, ops, strict=True)
            for k, t in enumerate(op.inputs)
            if t in there
        ]
        born = tuple(_subsets([t for t in edge.born if t in self._allowed]))
        return Bordered(group, frozenset(edge.dying), born, frozenset((*edge.dying, *edge.born)), reads)

    def _cheapest(self, limit: int, budget: Budget) -> Spill | None:
        labels = self._labels
        for last in range(len(labels), len(self.chain.ops) + 1):
            found = [
                new
                for group in self._table[last]
                for label in labels[group.group.first].values()
                for new in self._extended(label, group, limit)
            ]
            budget.spend(EXTENSION_SECONDS * len(found))
            number = MOST_KEPT if budget.allows(SearchPart.SLOW_MEMORY) else LEAST_KEPT
            labels.append(self._kept(sorted(found, key=_cheaper), limit, number))
        return min(labels[-1].values(), key=_cheaper, default=None)

    def _extended(self, label: Spill, group: Bordered, limit: int) -> Iterator[Spill]:
        stays = label.here - group.dying
        for chosen in group.born:
            slow = label.here | chosen if chosen else label.here
            least, most = self._fast_bytes(group, slow)
            if least <= limit:
                cost = label.cost
                if slow:
                    cost += self._cost.write * sum(self._sizes[t] for t in chosen)
                    cost += self._cost.read * sum(group.bytes_read.get(t, 0) for t in slow)
                spread = label.spread + (most if most <= limit else least)
                yield Spill(cost, spread, stays | chosen, group, slow, label)

    def _kept(self, found: Iterable[Spill], limit: int, number: int) -> dict[Slow, Spill]:
        """Return the first partial solution that fits for each set of tensors that stay in slow memory. After `number`
        solutions, keep only solutions that leave more bytes in slow memory than all solutions before them.
        """
        kept: dict[Slow, Spill] = {}
        most = -1
        for new in found:
            nbytes = sum(self._sizes[t] for t in new.here)
            wanted = new.here not in kept and (nbytes > most or len(kept) < number)
            if wanted and new.last and self._fits(new.last, new.slow, limit):
                kept[new.here], most = new, max(most, nbytes)
        return kept

    def _fits(self, group: Bordered, slow: Slow, limit: int) -> bool:
        """Return whether a group fits in `limit` bytes. It gets a layout only if its bounds do not tell."""
        least, most = self._fast_bytes(group, slow)
        if least <= limit < most:
            touched = slow & group.touched
            self._placed[group][touched] = self._place(group.group, touched)
            least, _ = self._fast_bytes(group, slow)
        return least <= limit

    def _fast_bytes(self, group: Bordered, slow: Slow) -> tuple[int, int]:
        """Return the least and the most bytes of fast memory that the group needs. They are equal if the group has a
        layout.
        """
        touched = slow & group.touched
        through = sum(self._sizes[t] for t in slow - touched) if slow else 0
        placed = self._placed[group].get(touched)
        most = (group.group.nbytes if placed is None else placed) - through
        return (most - sum(self._sizes[t] for t in touched) if placed is None else most), most


def _cheaper(spill: Spill) -> tuple[float, int]:
    return spill.cost, spill.spread


def _smallest(groups: Sequence[Candidate]) -> Iterable[Candidate]:
    found: dict[tuple[int, bool], Candidate] = {}
    for group in sorted(groups, key=lambda group: group.nbytes):
        found.setdefault((group.first, group.stripes > 0), group)
    return found.values()


def _subsets(tensors: Sequence[TensorId]) -> Iterator[Slow]:
    sizes = range(len(tensors) + 1) if len(tensors) <= MOST_CHOSEN else (0, len(tensors))
    return map(frozenset, joined.from_iterable(combinations(tensors, n) for n in sizes))
