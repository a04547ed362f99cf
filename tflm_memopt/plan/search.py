"""The best partition of a region's schedule into blocks: exact Pareto label setting.

A label at position p says how the operators before p are cut: the bytes of the worst block so far and the multiply-accumulates. A block's
cost does not depend on the other blocks (blocks.py), so a label that is no better in either is dropped without loss: msf-CNN's problem P1
(section 5) on the shortest-path graph of its Figure 4, with bytes combined by max.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tflm_memopt.plan.blocks import MAX_ORDERS, Candidate, Chain, candidates

UNLIMITED = 1 << 62


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
        return (*self.before.blocks(), self.last) if self.before and self.last else ()


def pareto(labels: Sequence[Label]) -> list[Label]:
    """Labels that no other one beats in bytes and in multiply-accumulates."""
    front: list[Label] = []
    for label in sorted(labels, key=lambda x: (x.nbytes, x.macs, x.spread)):
        if not front or label.macs < front[-1].macs:
            front.append(label)
    return front


def partitions(chain: Chain, limit: int = UNLIMITED) -> list[Label]:
    """The Pareto front of (bytes, multiply-accumulates) over all partitions of the chain that need at most `limit` bytes.

    A first pass that follows one operand order only finds a good partition quickly; its bytes bound the second.
    """
    first = _label_setting(chain, limit, orders=1)
    if not first or not any(len(op.inputs) > 1 for op in chain.ops):
        return first
    return _label_setting(chain, min(limit, first[-1].nbytes), orders=MAX_ORDERS)


def _label_setting(chain: Chain, limit: int, orders: int) -> list[Label]:
    fronts: list[list[Label]] = [[Label(0, 0, 0)]]
    for last in range(1, len(chain.ops) + 1):
        reached = []
        for block in candidates(chain, last, limit, orders):
            for label in fronts[block.first]:
                nbytes = max(label.nbytes, block.nbytes)
                reached.append(Label(nbytes, label.macs + block.macs, label.spread + block.nbytes, block, label))
        fronts.append(pareto(reached))
    return fronts[-1]
