"""The order in which the rows of a block are computed, and what follows from it: ring depths, liveness, overlap
distances.

A block fires on demand: a sink wants its rows, a firing wants the rows that it reads, operand after operand (design:
"demand-driven firing makes ring depths exact for any graph"; the CSDF view of Jung et al., joint memory of several
CNNs, with phase = row). The trace is built from the block's end: adding a producer in front of its readers never
changes the order of their firings, so that all blocks [a, end) share one trace, extended operator by operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import TensorId
from tflm_memopt.model.rowop import RowOp

Ints = NDArray[np.int64]

OUTSIDE = -1
"""In Trace.op: the demand comes from outside the block."""
FIRE = 99
"""In Trace.slot: the operator fires; smaller values: it demands the rows of that operand."""


@dataclass(frozen=True, slots=True)
class Member:
    """An operator in a block, as the trace sees it."""

    key: int
    op: RowOp
    operands: tuple[int, ...]
    """Inputs in the order of demand."""
    iterative: bool

    @property
    def firings(self) -> int:
        return self.op.reads[0].h if self.iterative else self.op.writes.h

    def reads(self, k: int, firing: Ints) -> tuple[Ints, Ints]:
        """Half-open row ranges of input k that these firings read."""
        if self.iterative:
            return firing, firing + 1
        w, h = self.op.window, self.op.reads[k].h
        first = firing * w.stride_h - w.pad_top
        return np.maximum(0, first), np.minimum(h, first + w.extent_h)

    def rows_written(self, firing: Ints) -> Ints:
        """Output rows that exist once these firings are done."""
        if self.iterative:
            last: Ints = (firing == self.firings - 1).astype(np.int64)
            return last
        return firing + 1


@dataclass(frozen=True, slots=True)
class Trace:
    """What happens in a block, in order. Demands whose producer is not in the block yet are kept; they cost nothing."""

    members: tuple[Member, ...]
    """In the schedule's order."""
    op: Ints
    """Key of the operator, or OUTSIDE."""
    slot: Ints
    firing: Ints
    """The operator's firing; for a demand from outside: the row, of the tensor `slot`."""

    @property
    def moments(self) -> Ints:
        """Positions of all firings."""
        return np.flatnonzero(self.slot == FIRE)

    def fires(self, key: int) -> tuple[Ints, Ints]:
        """Positions in the trace at which an operator fires, and which firing it is."""
        at = np.flatnonzero((self.op == key) & (self.slot == FIRE))
        return at, self.firing[at]

    def readers(self, tensor: TensorId) -> list[tuple[Member, int]]:
        return [(m, k) for m in self.members for k, t in enumerate(m.op.inputs) if t == tensor]

    def reads(self, tensor: TensorId) -> tuple[Ints, Ints]:
        """Positions of all reads of a tensor, in order, and the first byte of each: readers may see different rows."""
        parts = []
        for member, k in self.readers(tensor):
            at, firing = self.fires(member.key)
            parts.append((at, member.reads(k, firing)[0] * member.op.reads[k].row_bytes))
        if not parts:
            return _EMPTY, _EMPTY
        at, first = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(at, kind="stable")
        return at[order], first[order]


_EMPTY = np.zeros(0, dtype=np.int64)


def start(sinks: Sequence[tuple[TensorId, int]]) -> Trace:
    """A block with no operators yet, of which all rows of these tensors (id, rows) are wanted, one after the other."""
    rows = np.concatenate([np.arange(h, dtype=np.int64) for _, h in sinks])
    tensors = np.concatenate([np.full(h, tensor, dtype=np.int64) for tensor, h in sinks])
    return Trace((), np.full(len(rows), OUTSIDE, dtype=np.int64), tensors, rows)


def prepend(trace: Trace, member: Member) -> Trace:
    """Put a producer in front: its firings happen just before the demands that need them."""
    need = _rows_demanded(trace, member.op.output)
    demands = np.flatnonzero(need >= 0)
    produced = np.maximum.accumulate(np.minimum(need[demands], member.op.writes.h))
    before = np.concatenate(([0], produced[:-1])) if len(produced) else produced
    per_row = member.firings if member.iterative else 1
    counts = (produced - before) * per_row
    firing = np.arange(int(counts.sum()), dtype=np.int64)

    pattern = np.array([*member.operands, FIRE], dtype=np.int64)
    new_op = np.full(len(firing) * len(pattern), member.key, dtype=np.int64)
    new_slot = np.tile(pattern, len(firing))
    new_firing = np.repeat(firing, len(pattern))

    # The demands are met: the producer's entries take their place.
    keep = np.flatnonzero(need < 0)
    anchor = np.concatenate((keep * 2 + 1, np.repeat(np.repeat(demands, counts) * 2, len(pattern))))
    order = np.argsort(anchor, kind="stable")

    def merged(old: Ints, new: Ints) -> Ints:
        both: Ints = np.concatenate((old[keep], new))[order]
        return both

    return Trace(
        (member, *trace.members),
        merged(trace.op, new_op),
        merged(trace.slot, new_slot),
        merged(trace.firing, new_firing),
    )


def _rows_demanded(trace: Trace, tensor: TensorId) -> Ints:
    """Per entry of the trace: rows of the tensor that must exist there, or -1 where the entry is no demand of it."""
    need = np.full(len(trace.op), -1, dtype=np.int64)
    outside = (trace.op == OUTSIDE) & (trace.slot == tensor)
    need[outside] = trace.firing[outside] + 1
    for member, k in trace.readers(tensor):
        at = np.flatnonzero((trace.op == member.key) & (trace.slot == k))
        need[at] = member.reads(k, trace.firing[at])[1]
    return need


def ring_depth(trace: Trace, producer: Member) -> int:
    """Rows of the producer's output to keep at once: when a row is written, it and all older ones still to be read."""
    at, firing = trace.fires(producer.key)
    rows = producer.rows_written(firing)
    row_bytes = producer.op.writes.row_bytes
    needed = dead_bytes(trace, producer.op.output, producer.op.writes.nbytes, at) // row_bytes
    return int(np.max(np.maximum(rows - np.minimum(needed, rows - 1), 1), initial=0))


def dead_bytes(trace: Trace, tensor: TensorId, nbytes: int, positions: Ints) -> Ints:
    """At each position: bytes of the tensor below this one are read neither there nor later."""
    at, first = trace.reads(tensor)
    future: Ints = np.minimum.accumulate(np.append(first, nbytes)[::-1])[::-1]
    return future[np.searchsorted(at, positions, side="left")]


def written_bytes(trace: Trace, member: Member, positions: Ints) -> Ints:
    """At each position: bytes of the member's output that are written there or before."""
    at, firing = trace.fires(member.key)
    written = np.concatenate(([0], member.rows_written(firing))) * member.op.writes.row_bytes
    result: Ints = written[np.searchsorted(at, positions, side="right")]
    return result
