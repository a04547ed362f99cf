"""The order in which a block computes, and what follows from it: who is alive when.

A block fires on demand: a sink wants its units, a unit wants the pixels that it reads, operand after operand (design:
"demand-driven firing makes ring depths exact for any graph"; the CSDF view of Jung et al., joint memory of several
CNNs). The trace is built from the block's end: adding a producer in front of its readers never changes the order of
their firings, so that all blocks [a, end) share one trace, extended operator by operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Stage
from tflm_memopt.plan.walk import BY_ROWS, Ints, Units, Walk, units

OUTSIDE = -1
"""In Trace.op: the demand comes from outside the block."""
FIRE = -1
"""In Trace.slot: the operator fires; there, operands and tensors count from 0."""


@dataclass(frozen=True)
class Member:
    """An operator in a block, as the trace sees it."""

    key: int
    op: RowOp
    operands: tuple[int, ...]
    """Inputs in the order of demand."""
    iterative: bool
    walk: Walk = BY_ROWS
    """How it goes through its output, or through its input when it is iterative."""
    strips: int = 0
    """Strips of the block; 0: as many as it has rows."""

    @cached_property
    def stage(self) -> Stage:
        """The same as a stage of a plan."""
        return Stage(self.key, self.operands, self.iterative, self.walk)

    @cached_property
    def units(self) -> Units:
        """What it fires, in order."""
        walked = self.op.reads[0] if self.iterative else self.op.writes
        return units(self.walk, self.strips or walked.h, walked.h, walked.w)

    @property
    def firings(self) -> int:
        return len(self.units)

    @property
    def sum_bytes(self) -> int:
        """int32 sums that it keeps: one per output, or one per output of a strip that is walked group by group."""
        if self.walk.sums:
            u = self.units
            return 4 * int((u.hi - u.lo).max()) * self.op.writes.row_bytes
        return self.op.accumulator_bytes if self.iterative else 0

    @property
    def scratch_bytes(self) -> int:
        """That its kernel takes while it fires."""
        packed = not self.iterative and self.walk.groups == 1
        return self.op.scratch_bytes(self.walk.tile or self.op.writes.w) if packed else 0

    @property
    def pixel_bytes(self) -> int:
        """Bytes of a pixel of its output, as it is kept inside a block."""
        return -(-self.op.writes.c // self.walk.groups) if self.walk.splits else self.op.writes.c

    def rows(self, k: int, firing: Ints) -> tuple[Ints, Ints]:
        """Half-open row ranges of input k that these firings read; empty where the window is all padding."""
        start, end = self._rows[k]
        return start[firing], end[firing]

    def columns(self, k: int, firing: Ints) -> tuple[Ints, Ints]:
        """Half-open column ranges of input k that these firings read."""
        start, end = self._columns[k]
        return start[firing], end[firing]

    def first_bytes(self, k: int, firing: Ints) -> Ints:
        """First bytes that these firings read of input k, a whole tensor."""
        return self._first_bytes[k][firing]

    def bytes_written(self, firing: Ints) -> Ints:
        """End of the last byte of the whole output tensor that these firings write; 0 where they only add to sums."""
        return self._bytes_written[firing]

    # the same of all units: asked for again and again while a block grows

    @cached_property
    def _rows(self) -> Sequence[tuple[Ints, Ints]]:
        u, found = self.units, []
        for k in range(len(self.op.inputs)):
            start, end = (u.row, u.row + 1) if self.iterative else self.op.rows(k, u.row)
            if self.walk.sums and not self.iterative:  # the last pass reads its sums only
                end = np.where(u.group == self.walk.groups - 1, start, end)
            found.append((start, end))
        return found

    @cached_property
    def _columns(self) -> Sequence[tuple[Ints, Ints]]:
        return [self._columns_of(k) for k in range(len(self.op.inputs))]

    def _columns_of(self, k: int) -> tuple[Ints, Ints]:
        x0, x1 = self.units.x0, self.units.x1
        if self.iterative:
            return x0, x1
        w, width = self.op.window, self.op.reads[k].w
        if not self.op.tileable:  # whole rows, always
            return 0 * x0, 0 * x1 + width
        end = (x1 - 1) * w.stride_w - w.pad_left + w.extent_w
        first = np.minimum(x0 * w.stride_w - w.pad_left, width - 1)  # of a repeated operand: column 0
        return np.maximum(0, first), np.minimum(width, end)

    @cached_property
    def _first_bytes(self) -> Sequence[Ints]:
        found = []
        for k, rows in enumerate(self.op.reads):
            pixel = self._rows[k][0] * rows.w
            if not self.walk.by_rows:
                pixel = pixel + self._columns[k][0]
            found.append(pixel * rows.c)
        return found

    @cached_property
    def _bytes_written(self) -> Ints:
        u, out = self.units, self.op.writes
        if self.iterative:
            whole: Ints = (np.arange(len(u)) == len(u) - 1) * out.nbytes
            return whole
        if self.walk.splits:  # the first group already reaches to the end of its strip
            strip: Ints = u.hi[u.strip] * out.row_bytes
            return strip
        end: Ints = (u.row * out.w + u.x1) * out.c
        return end if self.walk.groups == 1 else end * (u.group == self.walk.groups - 1)

    def unit_making(self, reader: Member, firing: Ints, row: Ints, column: Ints) -> Ints:
        """The unit that makes a pixel of the output for these firings of a reader in the same block."""
        if self.iterative:
            return np.full(len(firing), self.firings - 1, dtype=np.int64)
        u = self.units
        group = reader.units.group[firing] if self.walk.splits else self.walk.groups - 1
        return u.index(u.strip_making(row, reader.units.strip[firing]), group, row, column)


@dataclass(frozen=True)
class Trace:
    """What happens in a block, in order. Demands whose producer is not in the block yet are kept; they cost nothing."""

    members: tuple[Member, ...]
    """In the schedule's order."""
    op: Ints
    """Key of the operator, or OUTSIDE."""
    slot: Ints
    """FIRE, or the operand that is demanded; for a demand from outside: the tensor."""
    firing: Ints
    """The operator's unit; for a demand from outside: the unit of the tensor's producer."""

    @cached_property
    def moments(self) -> Ints:
        """Positions of all firings."""
        return np.flatnonzero(self.slot == FIRE)

    @cached_property
    def _fired(self) -> Ints:
        """Keys of those that fire, in order."""
        return self.op[self.moments]

    @cached_property
    def end(self) -> Ints:
        """Positions of all firings, and the end of the trace."""
        return np.append(self.moments, len(self.op))

    def fires(self, key: int) -> tuple[Ints, Ints]:
        """Positions in the trace at which an operator fires, and which firing it is."""
        if key not in self._fires:
            at = self.moments[self._fired == key]
            self._fires[key] = at, self.firing[at]
        return self._fires[key]

    def readers(self, tensor: TensorId) -> Sequence[tuple[Member, int]]:
        return self._readers.get(tensor, ())

    def reads(self, tensor: TensorId) -> tuple[Ints, Ints]:
        """Positions of all reads of a whole tensor, in order, and their first bytes: readers may see different rows."""
        if tensor not in self._reads:
            self._reads[tensor] = self._find_reads(tensor)
        return self._reads[tensor]

    def _find_reads(self, tensor: TensorId) -> tuple[Ints, Ints]:
        parts = []
        for member, k in self.readers(tensor):
            at, firing = self.fires(member.key)
            parts.append((at, member.first_bytes(k, firing)))
        if len(parts) < 2:
            return parts[0] if parts else (_EMPTY, _EMPTY)
        at, first = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(at, kind="stable")
        return at[order], first[order]

    @cached_property
    def _fires(self) -> dict[int, tuple[Ints, Ints]]:
        return {}

    @cached_property
    def _reads(self) -> dict[TensorId, tuple[Ints, Ints]]:
        return {}

    @cached_property
    def dead(self) -> dict[tuple[TensorId, int], Ints]:
        """What dead_bytes() found."""
        return {}

    @cached_property
    def _readers(self) -> Mapping[TensorId, Sequence[tuple[Member, int]]]:
        readers: dict[TensorId, list[tuple[Member, int]]] = {}
        for m in self.members:
            for k, t in enumerate(m.op.inputs):
                readers.setdefault(t, []).append((m, k))
        return readers


_EMPTY = np.zeros(0, dtype=np.int64)


def start(sinks: Sequence[tuple[TensorId, int]]) -> Trace:
    """A block with no operators yet; all these tensors (id, units of the producer) are wanted, one after the other."""
    wanted = np.concatenate([np.arange(n, dtype=np.int64) for _, n in sinks])
    tensors = np.concatenate([np.full(n, tensor, dtype=np.int64) for tensor, n in sinks])
    return Trace((), np.full(len(wanted), OUTSIDE, dtype=np.int64), tensors, wanted)


def prepend(trace: Trace, member: Member) -> Trace:
    """Put a producer in front: its firings happen just before the demands that need them."""
    need = _units_demanded(trace, member)
    demands = np.flatnonzero(need >= 0)
    produced = np.maximum.accumulate(need[demands])
    before = np.concatenate(([0], produced[:-1])) if len(produced) else produced
    if member.walk.recomputes:  # it goes straight to the strip that is wanted
        u = member.units
        before = np.where(produced > before, np.maximum(before, u.start[u.strip[produced - 1]]), before)
    counts = produced - before
    firing = np.repeat(before - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()), dtype=np.int64)

    pattern = np.array([*member.operands, FIRE], dtype=np.int64)
    # The demands are met: the producer's entries take their place.
    room = np.ones(len(need), dtype=np.int64)
    room[demands] = counts * len(pattern)
    stays = np.repeat(need < 0, room)

    def merged(old: Ints, new: Ints | int) -> Ints:
        both = np.repeat(old, room)
        both[~stays] = new
        return both

    return Trace(
        (member, *trace.members),
        merged(trace.op, member.key),
        merged(trace.slot, np.resize(pattern, len(firing) * len(pattern))),
        merged(trace.firing, np.repeat(firing, len(pattern))),
    )


def _units_demanded(trace: Trace, producer: Member) -> Ints:
    """Per entry of the trace: units of the producer that must be done there; -1: it is no demand of its output."""
    tensor = producer.op.output
    need = np.full(len(trace.op), -1, dtype=np.int64)
    outside = (trace.op == OUTSIDE) & (trace.slot == tensor)
    need[outside] = producer.firings if producer.iterative else trace.firing[outside] + 1
    for member, k in trace.readers(tensor):
        at = np.flatnonzero((trace.op == member.key) & (trace.slot == k))
        firing = trace.firing[at]
        first, end = member.rows(k, firing)
        if producer.walk.by_rows and not producer.iterative:
            need[at] = np.where(end > first, end, 0)
            continue
        left, right = member.columns(k, firing)
        some = (end > first) & (right > left)
        need[at] = 0
        need[at[some]] = producer.unit_making(member, firing[some], end[some] - 1, right[some] - 1) + 1
    return need


def ring_depth(trace: Trace, producer: Member) -> int:
    """Rows of the producer's output, made row by row, to keep at once: the one written, older ones still to be read."""
    at, firing = trace.fires(producer.key)
    row_bytes = producer.op.writes.row_bytes
    rows = producer.bytes_written(firing) // row_bytes
    dead = dead_bytes(trace, producer.op.output, producer.op.writes.nbytes)
    needed = dead[np.searchsorted(trace.moments, at)] // row_bytes
    return int(np.max(np.maximum(rows - np.minimum(needed, rows - 1), 1), initial=0))


def dead_bytes(trace: Trace, tensor: TensorId, nbytes: int) -> Ints:
    """At each firing and at the end: bytes of the tensor below this one are read neither there nor later."""
    key = tensor, nbytes
    if key not in trace.dead:
        at, first = trace.reads(tensor)
        future = np.empty(len(first) + 1, dtype=np.int64)
        future[:-1], future[-1] = first, nbytes
        future = np.minimum.accumulate(future[::-1])[::-1]
        trace.dead[key] = _changing(future, np.searchsorted(trace.end, at, side="right"), len(trace.end))
    return trace.dead[key]


def written_bytes(trace: Trace, member: Member) -> tuple[Ints, Ints]:
    """At each firing and at the end: end of the last byte of the member's output written before, and written then."""
    at, firing = trace.fires(member.key)
    written = np.concatenate(([0], np.maximum.accumulate(member.bytes_written(firing))))
    after = _changing(written, np.searchsorted(trace.end, at, side="left"), len(trace.end))
    return np.concatenate(([0], after[:-1])), after


def _changing(values: Ints, at: Ints, length: int) -> Ints:
    """One value after the other: the first up to at[0], then the second up to at[1], ..."""
    edges = np.empty(len(values) + 1, dtype=np.int64)
    edges[0], edges[1:-1], edges[-1] = 0, at, length
    return np.repeat(values, edges[1:] - edges[:-1])
