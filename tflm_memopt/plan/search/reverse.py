"""Finds groups of operators that may compute their rows from last to first.

If an output overwrites the freed bytes of its input, the output starts a little below the input. Each further group
places its output nearer to the lower end of the arena. In a reversed group, an output starts a little above its input.
To reverse a group, the addresses of its buffers are mirrored, so that the lowest buffer becomes the highest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp, Rows
from tflm_memopt.plan.effort import Budget
from tflm_memopt.plan.iteration.reversal import reversed_op
from tflm_memopt.plan.search.groups import MAX_ORDERS, Candidate, Chain, candidates
from tflm_memopt.plan.search.links import Links, links
from tflm_memopt.plan.search.tiles import tiled_ending
from tflm_memopt.plan.search.tiles_plan import Settings


@dataclass(frozen=True)
class Reversed:
    chain: Chain
    """The region in reversed row order. Operators that cannot be reversed are unchanged."""
    able: frozenset[int]
    joined: Links
    mirrored: dict[tuple[int, int], bool] = field(default_factory=dict)
    known: dict[tuple[int, Settings | None], tuple[int, Sequence[Candidate]]] = field(default_factory=dict)

    def group(self, group: Candidate, settings: Settings | None, limit: int, budget: Budget) -> Candidate | None:
        where = group.first, group.last
        if where not in self.mirrored:
            self.mirrored[where] = self._can_be_reversed(*where)
        if not self.mirrored[where]:
            return None
        key = group.last, settings if group.stripes else None
        most, found = self.known.get(key, (-1, ()))
        best = _best(found, group)
        if best is None and most < limit:
            self.known[key] = limit, self._ending(*key, limit, budget)
            best = _best(self.known[key][1], group)
        return best if best and best.nbytes <= limit else None

    def _can_be_reversed(self, first: int, last: int) -> bool:
        ops, source = self.chain.ops[first:last], self.chain.source
        outside = source is not None and any(source.tensor in op.inputs for op in ops)
        return not outside and self.able.issuperset(range(first, last)) and _seen_alike(ops)

    def _ending(self, last: int, settings: Settings | None, limit: int, budget: Budget) -> Sequence[Candidate]:
        if settings:
            return tiled_ending(self.chain, self.joined, settings, last, limit, budget)
        return list(candidates(self.chain, last, limit, MAX_ORDERS, budget=budget))


def _best(found: Sequence[Candidate], group: Candidate) -> Candidate | None:
    same = [c for c in found if c.first == group.first and c.macs <= group.macs]
    return min(same, key=lambda c: (c.nbytes, c.macs), default=None)


def reversed_chain(chain: Chain, *, pixels: bool) -> Reversed:
    ops = [reversed_op(op, pixels=pixels) for op in chain.ops]
    other = replace(chain, ops=tuple(new or old for new, old in zip(ops, chain.ops, strict=True)))
    return Reversed(other, frozenset(i for i, op in enumerate(ops) if op), links(other))


def _seen_alike(ops: Sequence[RowOp]) -> bool:
    """Return whether all operators divide each tensor into the same rows, which a reversed group requires."""
    seen: dict[TensorId, Rows] = {}
    return all(seen.setdefault(t, rows) == rows for op in ops for t, rows in op.seen())
