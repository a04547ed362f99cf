"""Candidate blocks of a region, and what each costs.

A block is an interval of the region's schedule. Which tensors cross its border depends on the interval alone, so that
its cost is independent of how the rest of the region is cut: that is what makes the search in cuts.py exact.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.effort import Meter, SearchPart
from tflm_memopt.plan.firing.liveness import (
    BlockBorder,
    Content,
    Ring,
    contents,
    ends_late,
    frame_contents,
    most_alive,
    new_contents,
    ring_of,
)
from tflm_memopt.plan.firing.trace import Member, Trace, dead_bytes, prepend, start, traced
from tflm_memopt.plan.plan import Stage
from tflm_memopt.plan.walk import Ints
from tflm_memopt.rowgraph.graph import MAX_IO, InputSource

UNLIMITED = 1 << 62
"""More bytes, or multiplications, than any plan takes."""
MAX_KERNEL_H = 64
"""Rows of a window that a kernel takes at once: TMO_MAX_KERNEL_H."""
COUNTER_BYTES = 2
TILED_COUNTER_BYTES = 8
"""Strip, group, tile, row."""
MAX_PERMUTED = 3
"""Operands of which all orders of demand are tried."""
MAX_ORDERS = 8
"""Combinations of operand orders that are followed per block end; the best by ring bytes so far."""

GROWN_SECONDS, ENTRY_SECONDS = 2e-4, 4e-7
"""Work (effort.py) to put an operator in front of a block, and for each entry of the trace then."""
MAX_OPERATORS = 48
"""Operators of a row block at most, unless a streamed input needs more of them to pass by."""


@dataclass(frozen=True)
class Chain:
    """The operators of one region in schedule order, and what the world outside wants of their tensors."""

    keys: tuple[int, ...]
    ops: tuple[RowOp, ...]
    outside: frozenset[TensorId]
    """Tensors that are read after the region, or are outputs of the model."""
    across: int
    """Bytes of tensors that live through the region untouched."""
    frame: InputSource | None = None
    """The model's input, where it is not in the arena as a whole and this region reads it."""
    beside: frozenset[TensorId] = frozenset()
    """Tensors that take nothing of the arena: states, what stands for one that was kept, and for rows that cross."""

    def last_read(self) -> Mapping[TensorId, int]:
        """Position of the last reader in the region; len(ops) for tensors wanted outside."""
        return self._last_read

    def rows(self) -> Mapping[TensorId, int]:
        """Bytes of every tensor of the region; the frame is none."""
        return self._rows

    @cached_property
    def _last_read(self) -> Mapping[TensorId, int]:
        last = {t: i for i, op in enumerate(self.ops) for t in op.inputs}
        return last | {t: len(self.ops) for t in self.outside}

    @cached_property
    def _rows(self) -> Mapping[TensorId, int]:
        sizes = {t: r.nbytes for op in self.ops for t, r in zip(op.inputs, op.reads, strict=True)}
        if self.frame:
            sizes.pop(self.frame.tensor)
        sizes |= {op.output: op.writes.nbytes for op in self.ops}
        return {t: nbytes for t, nbytes in sizes.items() if t not in self.beside}

    def can_cut(self, first: int, last: int) -> bool:
        """Whether operators [first, last) may be a block: a streamed input passes by once, during the first block, and
        rows that cross keep their order.
        """
        return (first >= self.streamed or (first == 0 and last >= self.streamed)) and self._in_order(first, last)

    def rules_out(self, first: int, last: int) -> bool:
        """Whether neither operators [first, last) nor more in front of them may be a block."""
        return last < self.streamed or not self._in_order(first, last)

    def _in_order(self, first: int, last: int) -> bool:
        """Whether a block exchanges rows in an order that all devices know: one tensor with each of them in each
        direction, and nothing that may answer to what it sends, for which it would wait before it sends it. Where it
        does not, no longer one does.
        """
        at = self._crossing_at
        seen = self._crossing[bisect_left(at, first) : bisect_left(at, last)]
        if not seen:
            return True
        lines = {(op.crossing.sender, op.crossing.receiver) for _, op in seen if op.crossing}
        sent = min((i for i, op in seen if op.sends), default=last)
        return len(lines) == len(seen) and all(i < sent for i, op in seen if op.receives)

    @cached_property
    def _crossing(self) -> Sequence[tuple[int, RowOp]]:
        return [(i, op) for i, op in enumerate(self.ops) if op.crossing]

    @cached_property
    def _crossing_at(self) -> Sequence[int]:
        return [i for i, _ in self._crossing]

    @cached_property
    def streamed(self) -> int:
        """Position behind the last reader of a streamed input; 0: there is none."""
        frame = self.frame
        pushed = frame is not None and frame.pushed > 0
        readers = [i for i, op in enumerate(self.ops) if pushed and frame and frame.tensor in op.inputs]
        return readers[-1] + 1 if readers else 0

    @cached_property
    def macs(self) -> Sequence[int]:
        """At each position: multiply-accumulates of the operators before it."""
        return (0, *itertools.accumulate(op.macs for op in self.ops))

    @cached_property
    def members(self) -> Sequence[tuple[Member, ...]]:
        """At each position: the operator as a member of a row block, once for each order of its operands."""
        return [
            tuple(Member(key, op, order, iterative=_iterative_pays(op)) for order in _orders(op))
            for key, op in zip(self.keys, self.ops, strict=True)
        ]

    @cached_property
    def alive(self) -> Sequence[frozenset[TensorId]]:
        """At each position: tensors made before it and read there or later."""
        last_read = self.last_read()
        now = {t for t in self.rows() if t in last_read}.difference(op.output for op in self.ops)
        steps = []
        for i, op in enumerate(self.ops):
            steps.append(frozenset(now))
            now -= {t for t in (*op.inputs, op.output) if last_read.get(t, -1) <= i}
            now |= {op.output} - self.beside if last_read.get(op.output, -1) > i else set()
        return (*steps, frozenset(now))

    @cached_property
    def least(self) -> int:
        """Bytes that no way to cut it goes below: those of whole tensors before it starts or when it ends, and the
        counter of one operator.
        """
        before, behind = (sum(self.rows()[t] for t in self.alive[i]) for i in (0, -1))
        return self.across + max(before, behind) + COUNTER_BYTES

    @cached_property
    def alive_in_order(self) -> Sequence[list[TensorId]]:
        """Tensors that are alive at each position, in the order of their numbers."""
        return [sorted(tensors) for tensors in self.alive]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Operators [first, last) of the chain as one block."""

    first: int
    last: int
    nbytes: int
    """Arena at its worst moment, tensors that merely live through it included: a lower bound of any layout."""
    macs: int
    stages: tuple[Stage, ...]
    strips: int = 0
    """0: row by row."""
    turned: bool = False
    """`nbytes` are those of its turned form (plan/search/turn.py), which the layout may choose."""

    @property
    def geometry(self) -> Candidate:
        """The same block, whatever is known of its bytes."""
        return replace(self, nbytes=0, turned=False)


@dataclass(frozen=True, slots=True)
class TracedBlock:
    """A block's firings, and what has to be kept inside."""

    trace: Trace
    rings: Mapping[TensorId, Ring]
    """Rings of the inner tensors."""

    def contents(
        self, at_border: BlockBorder, sizes: Mapping[TensorId, int], frame: InputSource | None = None
    ) -> tuple[Content, ...]:
        members = self.trace.members
        counters = sum(TILED_COUNTER_BYTES if m.strips else COUNTER_BYTES for m in members)
        second = max(m.op.second for m in members)
        return contents(self.trace, at_border, self.rings, sizes, counters + second, frame)


@dataclass(frozen=True, slots=True)
class Growing(TracedBlock):
    """A row block that is being extended towards the front."""

    alive: Ints
    """At each firing and at the end: bytes in what the block has inside and in what it leaves behind."""
    gaps: Ints
    """The same just before each of them: what a firing that is put there finds."""
    macs: int = 0
    """Multiply-accumulates of the firings that happen."""


def border(
    chain: Chain, first: int, last: int, sizes: Mapping[TensorId, int], last_read: Mapping[TensorId, int]
) -> BlockBorder:
    alive = chain.alive_in_order[first]
    return BlockBorder(
        dying=tuple(t for t in alive if last_read[t] < last),
        born=tuple(op.output for op in chain.ops[first:last] if last_read.get(op.output, -1) >= last),
        through=tuple(t for t in alive if last_read[t] >= last),
    )


def seed(chain: Chain, last: int, last_read: Mapping[TensorId, int]) -> Growing:
    """The empty block before `last`: an operator whose output is wanted later becomes a sink once it is prepended."""
    sinks = [(op.output, op.writes.h) for op in reversed(chain.ops[:last]) if last_read.get(op.output, -1) >= last]
    nothing = np.zeros(1, dtype=np.int64)
    return Growing(start(sinks), {}, nothing, nothing)


def grow(
    block: Growing, forms: Sequence[Member], *, is_sink: bool, frame: InputSource | None = None
) -> Iterator[Growing]:
    """The block with an operator put in front: one result for each of its forms (Chain.members); none when it cannot
    be fused.
    """
    writes = forms[0].op.writes
    for reader, k in block.trace.readers(forms[0].op.output):
        if (reader.op.reads[k].h, reader.op.reads[k].row_bytes) != (writes.h, writes.row_bytes):
            return  # the reader sees other rows: the tensor must be whole
    for member in forms:
        trace = prepend(block.trace, member)
        ring = None if is_sink else ring_of(trace, member)
        yield _with(block, trace, member, ring if ring and ring.nbytes else None, frame)


def _orders(op: RowOp) -> Iterator[tuple[int, ...]]:
    """In which order to try to demand operands: all of few, of many one after the other, forwards or backwards.

    One that is repeated has to be complete before anything else happens: it comes first.
    """
    n = len(op.inputs)
    if op.updates:
        yield tuple(range(n))
    elif any(op.repeats(k) for k in range(n)):
        yield tuple(sorted(range(n), key=lambda k: not op.repeats(k)))
    elif n <= MAX_PERMUTED:
        yield from itertools.permutations(range(n))
    else:
        yield from (tuple(range(n)), tuple(reversed(range(n))))


def _with(block: Growing, trace: Trace, member: Member, ring: Ring | None, frame: InputSource | None) -> Growing:
    """The extended block: the new firings find what lay in the gaps of the old; the new buffers come on top."""
    is_old = np.ones(len(trace.end), dtype=np.bool_)
    is_old[trace.order(member.key)] = False
    gaps = block.gaps[is_old.cumsum() - is_old]
    alive = gaps.copy()
    alive[is_old] = block.alive
    for at_firing, before in new_contents(trace, member, ring, COUNTER_BYTES, frame):
        alive, gaps = alive + at_firing, gaps + before
    rings = {**block.rings, member.op.output: ring} if ring else block.rings
    return Growing(trace, rings, alive, gaps, macs=block.macs + _macs(trace, member))


def _iterative_pays(op: RowOp) -> bool:
    """Sums instead of a whole input (msf-CNN, section 7): when they are smaller than the rows they save, or must be."""
    if not op.reducible:
        return False
    saved = (op.reads[0].h - 1) * op.reads[0].row_bytes
    return op.accumulator_bytes < saved or op.window.kernel_h > MAX_KERNEL_H


def settle(block: Growing, frame: InputSource | None = None) -> Growing:
    """Operators that sum up a tensor from outside the block read it whole: it is there anyway, and sums cost bytes."""
    summing = [m for m in block.trace.members if m.iterative]
    piecemeal = {m.op.output for m in block.trace.members if summing} | ({frame.tensor} if frame else set())
    for m in summing:
        if m.op.inputs[0] not in piecemeal and _whole_possible(m.op):
            block = _read_whole(block, m)
    return block


def _read_whole(block: Growing, member: Member) -> Growing:
    """The block with an operator's firings, which follow each other, made one, the last. It keeps no sums."""
    trace, last, whole = block.trace, member.firings - 1, replace(member, iterative=False)
    mine = trace.op == member.key
    dropped = mine & (trace.firing != last)
    stays = np.append(~dropped[trace.moments], True)
    alive, gaps = block.alive[stays], block.gaps[stays]
    members = tuple(whole if m is member else m for m in trace.members)
    readers = {t: tuple((whole if m is member else m, k) for m, k in of) for t, of in trace.readers_of.items()}
    settled = Trace(members, trace.entry[~dropped], np.where(mine, 0, trace.firing)[~dropped], trace.wanted, readers)
    at = settled.fired == member.key
    late = member.op.output not in block.rings and ends_late(whole)
    alive[:-1][at] += whole.scratch_bytes - member.scratch_bytes - member.sum_bytes - late
    gaps[:-1][at] -= member.sum_bytes * (last > 0)
    return replace(block, trace=settled, alive=alive, gaps=gaps)


def _whole_possible(op: RowOp) -> bool:
    return op.is_convolution or op.window.kernel_h <= MAX_KERNEL_H


def candidates(
    chain: Chain,
    last: int,
    limit: int,
    orders: int = MAX_ORDERS,
    length: int = MAX_OPERATORS,
    meter: Meter | None = None,
) -> Iterator[Candidate]:
    """All blocks that end before position `last` and need at most `limit` bytes, shortest first, best operand orders.

    `orders`: how many combinations of operand orders are followed. `length`: operators of a block, at the most, unless
    a streamed input needs more of them to pass by. What a block keeps inside never shrinks when it is extended, which
    ends the search early. `meter`: what it may cost; the shortest that may be a block is looked at in any case.
    """
    meter = meter or Meter()
    last_read, sizes, cuttable = chain.last_read(), chain.rows(), False
    growing: Sequence[Growing] = [seed(chain, last, last_read)]
    for first in range(last - 1, -1, -1):
        if chain.rules_out(first, last) or (last - first > length and chain.can_cut(first + 1, last)):
            return
        if cuttable and not meter.allows(SearchPart.ROW_BLOCKS):
            return
        is_sink = last_read.get(chain.ops[first].output, -1) >= last
        forms = chain.members[first]
        grown = [g for old in growing for g in grow(old, forms, is_sink=is_sink, frame=chain.frame)]
        meter.spend(sum(GROWN_SECONDS + ENTRY_SECONDS * len(g.trace) for g in grown))
        ranked = sorted(((int(g.alive.max()), g) for g in grown), key=lambda pair: pair[0])
        growing = [g for nbytes, g in ranked if nbytes + chain.across <= limit][:orders]
        if not growing:
            return
        at_border = border(chain, first, last, sizes, last_read)
        if not chain.can_cut(first, last):
            continue
        read = {t for op in chain.ops[first:last] for t in op.inputs}
        framed = chain.frame is not None and chain.frame.tensor in read
        if len(read.intersection(at_border.dying + at_border.through)) + len(at_border.born) + framed > MAX_IO:
            continue  # it may have to become a custom operator of its own
        cuttable = True
        through = chain.across + sum(sizes[t] for t in at_border.through)
        least, best = limit + 1, None
        for settled in (settle(g, chain.frame) for g in growing):
            nbytes = through + worst_bytes(settled, at_border, sizes, chain.frame, least - through)
            if nbytes < least:
                least, best = nbytes, settled
        if best:
            yield Candidate(first, last, least, best.macs, stages(best.trace))


def worst_bytes(
    block: Growing,
    at_border: BlockBorder,
    sizes: Mapping[TensorId, int],
    frame: InputSource | None = None,
    enough: int = UNLIMITED,
) -> int:
    """Bytes of a settled block at its worst moment, without whole tensors that only live through it.

    No layout of it can be lower. enough: from here on any figure is as good as another.
    """
    alive = sum((c.top - c.bottom for c in frame_contents(block.trace, frame)), block.alive)
    for t in at_border.dying:
        if alive.max() >= enough:
            break
        alive = alive + (sizes[t] - dead_bytes(block.trace, t, sizes[t]))
    return int(alive.max())


def rebuild(chain: Chain, candidate: Candidate) -> TracedBlock:
    """The trace and rings of a candidate: they are not kept for all candidates."""
    last_read = chain.last_read()
    members = [
        Member(stage.op, chain.ops[i], stage.operands, stage.iterative, stage.walk, candidate.strips)
        for i, stage in enumerate(candidate.stages, candidate.first)
    ]
    sinks = [m.key for m in reversed(members) if last_read.get(m.op.output, -1) >= candidate.last]
    trace = traced(members, sinks)
    inner = [m for m in members if m.key not in sinks]
    in_order = inner if candidate.strips else reversed(inner)  # a plan lists its buffers so
    rings = {m.op.output: ring_of(trace, m) for m in in_order}
    return TracedBlock(trace, {t: ring for t, ring in rings.items() if ring.nbytes})


def tiled_bytes(chain: Chain, candidate: Candidate) -> int:
    """Bytes of arena at a tiled block's worst moment, exactly."""
    sizes = chain.rows()
    at_border = border(chain, candidate.first, candidate.last, sizes, chain.last_read())
    through = chain.across + sum(sizes[t] for t in at_border.through)
    return through + most_alive(rebuild(chain, candidate).contents(at_border, sizes, chain.frame))


def stages(trace: Trace) -> tuple[Stage, ...]:
    return tuple(m.stage for m in trace.members)


def executed_macs(trace: Trace) -> int:
    """Multiply-accumulates of the firings that happen: pixels that nobody reads do not count, overlaps count twice."""
    return sum(_macs(trace, m) for m in trace.members)


def _macs(trace: Trace, m: Member) -> int:
    walked = m.op.reads[0] if m.iterative else m.op.writes
    _, fired = trace.fires(m.key)
    return m.op.macs * m.pixels(fired) // (walked.h * walked.w * (m.walk.groups - m.walk.sums))
