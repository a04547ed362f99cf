"""The best partition of a region's schedule into blocks: exact Pareto label setting.

A label at position p says how the operators before p are cut: the bytes of the worst block so far and the
multiply-accumulates. A block's cost does not depend on the other blocks (blocks.py), so a label that is no better in
either is dropped without loss: msf-CNN's problem P1 (section 5) on the shortest-path graph of its Figure 4, with bytes
combined by max.

A candidate's bytes are those alive at its worst moment; its buffers have fixed addresses and may need more. That is
found out by placing them, which costs time, so only the blocks of the best partition are placed; their costs are
corrected and the labels set again, until the best partition consists of placed blocks. As corrections only raise costs,
no other partition can then be better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tflm_memopt.plan.blocks import MAX_ORDERS, Candidate, Chain, candidates

UNLIMITED = 1 << 62
Table = Mapping[int, Sequence[Candidate]]
"""Candidates by the position at which they end."""
Place = Callable[[Candidate, int], int]
"""Bytes that a block needs once its buffers have addresses; any figure up to the second argument is good enough."""


@dataclass(frozen=True, slots=True)
class Label:
    """A partition of the first operators of a chain."""

    nbytes: int
    macs: int
    spread: int
    """Sum over the blocks of their bytes: breaks ties in favour of small blocks."""
    last: Candidate | None = field(default=None, compare=False)
    before: Label | None = field(default=None, compare=False)

    def blocks(self) -> tuple[Candidate, ...]:
        found, label = [], self
        while label.before and label.last:
            found.append(label.last)
            label = label.before
        return tuple(reversed(found))


def best_partition(chain: Chain, place: Place) -> Label:
    """The partition of least bytes, block addresses included."""
    rough = _least(_front(chain, _table(chain, _unfused_bytes(chain), orders=1)))
    limit = max(place(block, rough.nbytes) for block in rough.blocks())
    table = _table(chain, limit, orders=MAX_ORDERS)
    placed: dict[tuple[int, int], int] = {}
    while True:
        best = _least(_front(chain, table) or [rough])
        new = [b for b in best.blocks() if (b.first, b.last) not in placed]
        if not new:
            return best
        placed |= {(b.first, b.last): place(b, best.nbytes) for b in new}
        table = {
            last: [replace(c, nbytes=max(c.nbytes, placed.get((c.first, last), 0))) for c in row]
            for last, row in table.items()
        }


def _unfused_bytes(chain: Chain) -> int:
    """What the partition into single operators needs: no better one has a block that needs more."""
    return max(next(candidates(chain, last, UNLIMITED, orders=1)).nbytes for last in range(1, len(chain.ops) + 1))


def _table(chain: Chain, limit: int, orders: int) -> Table:
    return {last: tuple(candidates(chain, last, limit, orders)) for last in range(1, len(chain.ops) + 1)}


def _front(chain: Chain, table: Table) -> list[Label]:
    """The Pareto front of (bytes, multiply-accumulates) over all partitions of the chain."""
    fronts: list[list[Label]] = [[Label(0, 0, 0)]]
    for last in range(1, len(chain.ops) + 1):
        fronts.append(
            pareto(
                [
                    Label(
                        max(label.nbytes, block.nbytes),
                        label.macs + block.macs,
                        label.spread + block.nbytes,
                        block,
                        label,
                    )
                    for block in table[last]
                    for label in fronts[block.first]
                ]
            )
        )
    return fronts[-1]


def pareto(labels: Sequence[Label]) -> list[Label]:
    """Labels that no other one beats in bytes and in multiply-accumulates, fewest bytes first."""
    front: list[Label] = []
    for label in sorted(labels, key=lambda x: (x.nbytes, x.macs, x.spread)):
        if not front or label.macs < front[-1].macs:
            front.append(label)
    return front


def _least(front: Sequence[Label]) -> Label:
    return front[0]
