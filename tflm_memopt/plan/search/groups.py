"""Finds groups of consecutive operators whose rows can be computed in turn, and the costs of the groups.

The cost of a group does not depend on the other groups of the region, so the search in cuts.py is exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from tflm_memopt.format.limits import MAX_IO, MAX_KERNEL_H, PACKED_PIXELS
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.kernel_choice import makes_two_rows
from tflm_memopt.ops.packing import SCRATCH_VARIES, Packing, packed_values
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.effort import UNBOUNDED, Budget, SearchPart
from tflm_memopt.plan.iteration.endings import Endings
from tflm_memopt.plan.iteration.liveness import (
    GroupBorder,
    live_ranges,
    most_alive,
    new_bytes,
    rolling_buffer_of,
    streamed_ranges,
)
from tflm_memopt.plan.iteration.trace import Member, Trace, dead_bytes, prepend, start
from tflm_memopt.plan.nest import BY_ROWS, Ints
from tflm_memopt.plan.plan import Buffer, Stage
from tflm_memopt.rowgraph.graph import InputSource, Space

UNLIMITED = 1 << 62
MAX_ORDERS = 8

MOST_MEMBERS = 256
GROWN_SECONDS, ENTRY_SECONDS = 2e-4, 4e-7
"""Estimated seconds to add an operator to a group: a fixed part, and a part for each iteration of the group."""
MAX_OPERATORS = 48
"""Maximum number of operators in a group that runs row by row, unless the group has a streamed input."""


@dataclass(frozen=True)
class Chain:
    keys: tuple[int, ...]
    ops: tuple[RowOp, ...]
    outside: frozenset[TensorId]
    """Tensors that are read after the region or are outputs of the model."""
    across: int
    """Number of bytes of tensors that stay live during the region, but are not used in the region."""
    source: InputSource | None = None
    spaces: Mapping[TensorId, Space] = field(default_factory=dict)

    @cached_property
    def last_read(self) -> Mapping[TensorId, int]:
        last = {t: i for i, op in enumerate(self.ops) for t in op.inputs}
        return last | {t: len(self.ops) for t in self.outside}

    def outlives(self, tensor: TensorId, last: int) -> bool:
        """Return whether an operator at position `last` or later reads the tensor."""
        return self.last_read.get(tensor, -1) >= last

    @cached_property
    def lasting(self) -> Sequence[list[RowOp]]:
        found: list[list[RowOp]] = [[] for _ in range(len(self.ops) + 1)]
        for i, op in enumerate(self.ops):
            for at in range(i + 1, self.last_read.get(op.output, -1) + 1):
                found[at].append(op)
        return found

    @cached_property
    def sizes(self) -> Mapping[TensorId, int]:
        left = {op.output for op in self.ops if op.leaves}
        seen = {t: rows.nbytes for op in self.ops for t, rows in op.seen()}
        return {t: nbytes for t, nbytes in seen.items() if t not in self.spaces and t not in left}

    def can_cut(self, first: int, last: int) -> bool:
        """Only the first group may read a streamed input."""
        return (first >= self.streamed or (first == 0 and last >= self.streamed)) and self._in_order(first, last)

    def rules_out(self, first: int, last: int) -> bool:
        return last < self.streamed or not self._in_order(first, last)

    def _in_order(self, first: int, last: int) -> bool:
        """Return whether all devices know the order of the group's messages.

        A group may send at most one tensor to each device, and receive at most one tensor from each device. A group
        must not receive a tensor after it has sent a tensor.
        """
        seen = [(i, op) for i, op in self._messages if first <= i < last]
        if not seen:
            return True
        lines = {(op.message.sender, op.message.receiver) for _, op in seen if op.message}
        sent = min((i for i, op in seen if op.sends), default=last)
        return len(lines) == len(seen) and all(i < sent for i, op in seen if op.receives)

    @cached_property
    def _messages(self) -> Sequence[tuple[int, RowOp]]:
        return [(i, op) for i, op in enumerate(self.ops) if op.message]

    @cached_property
    def streamed(self) -> int:
        streams = {t for t, space in self.spaces.items() if space is Space.STREAM}
        return max((i + 1 for i, op in enumerate(self.ops) if not streams.isdisjoint(op.inputs)), default=0)

    @cached_property
    def macs(self) -> Sequence[int]:
        return (0, *itertools.accumulate(op.macs for op in self.ops))

    @cached_property
    def members(self) -> Sequence[tuple[Member, ...]]:
        return [
            tuple(Member(Stage(key, order, _iterative_pays(op)), op) for order in _orders(op))
            for key, op in zip(self.keys, self.ops, strict=True)
        ]

    @cached_property
    def member(self) -> Callable[[int, Stage, int], Member]:
        return lru_cache(MOST_MEMBERS)(lambda at, stage, stripes: Member(stage, self.ops[at], stripes))

    @cached_property
    def endings(self) -> Endings:
        return Endings(self.source)

    @cached_property
    def alive(self) -> Sequence[frozenset[TensorId]]:
        last_read = self.last_read
        now = {t for t in self.sizes if t in last_read}.difference(op.output for op in self.ops)
        steps = []
        for i, op in enumerate(self.ops):
            steps.append(frozenset(now))
            now -= {t for t in (*op.inputs, op.output) if last_read.get(t, -1) <= i}
            now |= {op.output} if last_read.get(op.output, -1) > i and not op.leaves else set()
        return (*steps, frozenset(now))


@dataclass(frozen=True, slots=True)
class Candidate:
    """The operators from `first` to `last - 1` of a region as one group."""

    first: int
    last: int
    nbytes: int
    """Peak of the group's live bytes in the arena."""
    macs: int
    stages: tuple[Stage, ...]
    stripes: int = 0
    """Number of stripes of rows, or 0 if the group runs row by row."""
    in_turn: bool = False
    """Whether the group computes its outputs in turn, as in `Group.in_turn`."""
    is_reversed: bool = False
    """Whether the group is reversed in its layout of `nbytes` bytes. The whole plan may still run the group forwards.
    """

    @property
    def geometry(self) -> Candidate:
        return replace(self, nbytes=0, is_reversed=False)


NINE_TAPS = 9
"""Kernel size in taps (3 x 3) for which a packed depthwise kernel can compute several pixels at once."""


def joins(chain: Chain, group: Candidate, number: int) -> bool:
    """A depthwise convolution may compute several pixels at once only if its input and its output are in rolling
    buffers.
    """
    stage, op = group.stages[number], chain.ops[group.first + number]
    if stage.nest.tile != 1 or not stage.runs_packed(op):
        return False
    inside = any(before.output == op.inputs[0] for before in chain.ops[group.first : group.first + number])
    nine = op.packing is Packing.DSP_DEPTHWISE and op.window.kernel_h * op.window.kernel_w == NINE_TAPS
    return op.packing is Packing.DSP_CONV or (nine and inside and not chain.outlives(op.output, group.last))


def joined(chain: Chain, group: Candidate, at_once: int) -> Candidate:
    stages = (
        replace(stage, at_once=at_once) if joins(chain, group, number) else stage
        for number, stage in enumerate(group.stages)
    )
    return replace(group, stages=tuple(stages)) if at_once > 1 else group


def more_at_once(group: Candidate, chain: Chain, number: int, at_once: int) -> Candidate:
    stages = list(group.stages)
    if joins(chain, group, number) and at_once > stages[number].at_once:
        stages[number] = replace(stages[number], at_once=at_once, pixels=0)
    return replace(group, stages=tuple(stages))


def wider(group: Candidate, chain: Chain, first: int, last: int, tile: int) -> Candidate:
    """Operators with channel groups or sums are not changed."""
    stages = list(group.stages)
    for i in range(first, last):
        nest, columns = stages[i].nest, min(tile, chain.ops[group.first + i].writes.w)
        able = nest.tile and nest.channel_groups == 1 and not stages[i].iterative
        if able and columns > max(nest.tile, stages[i].at_once):
            stages[i] = replace(stages[i], nest=replace(nest, tile=columns), at_once=1, pixels=0)
    return replace(group, stages=tuple(stages))


def in_rows(group: Candidate, chain: Chain, count: int, scratch: int = 0) -> Candidate:
    """A kernel for whole rows is faster than a kernel for tiles, which fetches weights and code for every few pixels.

    Packed convolutions of rows get `scratch` bytes of scratch, or more if one pixel needs more. If `scratch` is 0,
    convolutions get as much scratch as usual. If all operators compute rows, the group has no tiles.
    """
    stages, ops = list(group.stages), chain.ops[group.first : group.last]
    every = count == len(stages)
    if chain.source or group.is_reversed:
        return group
    for i, (stage, op) in enumerate(zip(stages[:count], ops, strict=False)):
        whole = (every or not stage.iterative) and stage.nest.channel_groups == 1 and not op.message
        if not whole or op.window.kernel_h > MAX_KERNEL_H:
            return group
        stages[i] = replace(stage, nest=BY_ROWS, at_once=1, pixels=_pixels(op, scratch) if scratch else 0)
    return replace(group, stages=tuple(stages), stripes=0 if every else group.stripes)


def _pixels(op: RowOp, scratch: int) -> int:
    """Return for how many pixels `scratch` bytes are enough, but at least 1. Return 0 if `scratch` bytes are enough for
    the usual number of pixels.
    """
    usual, one = op.scratch_bytes(op.writes.w), op.scratch_bytes(op.writes.w, pixels=1)
    return 0 if op.packing not in SCRATCH_VARIES or usual <= max(scratch, one) else max(1, scratch // one)


def scratch_sizes(group: Candidate, chain: Chain) -> Sequence[int]:
    """Return the possible sizes in bytes of the scratch of packed convolutions. The scratch may have room for fewer
    pixels than usual.
    """
    ops = [op for op in chain.ops[group.first : group.last] if op.packing in SCRATCH_VARIES]
    fewer = {op.scratch_bytes(op.writes.w, pixels=pixels) for op in ops for pixels in range(1, PACKED_PIXELS)}
    return sorted(fewer - {0}, reverse=True)


def with_more_room(group: Candidate, chain: Chain, number: int) -> Candidate:
    """If an operator has scratch for fewer pixels than usual, return the group with scratch for one more pixel."""
    stages, op = list(group.stages), chain.ops[group.first + number]
    stage = stages[number]
    if stage.reads_in_place(op) and op.scratch_bytes(1, pixels=1) > 0:
        pixels = 1
    elif stage.pixels and stage.nest.by_rows:
        pixels = _pixels(op, op.scratch_bytes(op.writes.w, pixels=stage.pixels + 1))
    else:
        return group
    stages[number] = replace(stage, pixels=pixels)
    return replace(group, stages=tuple(stages))


def in_two_rows(chain: Chain, group: Candidate) -> Candidate:
    stages = list(group.stages)
    for number, stage in enumerate(stages):
        op = chain.ops[group.first + number]
        values = packed_values(op.packing, (op.window.kernel_h, op.window.kernel_w), op.reads[0].c)
        inside = any(before.output == op.inputs[0] for before in chain.ops[group.first : group.first + number])
        apart = op.packing is Packing.DSP_CONV or (inside and not chain.outlives(op.output, group.last))
        able = makes_two_rows(op.packing, op.window, values, op.writes.w)
        if able and apart and stage.nest.by_rows and stage.runs_packed(op) and not op.core_1_counters:
            stages[number] = replace(stage, at_once=2)
    return group if group.stripes else replace(group, stages=tuple(stages))


@dataclass(frozen=True, slots=True)
class Growing:
    trace: Trace
    alive: Ints
    """Number of live bytes of the group's buffers at each iteration and at the end."""
    gaps: Ints
    """Number of live bytes just before each iteration."""
    macs: int = 0
    in_turn: bool = False


def border(chain: Chain, first: int, last: int) -> GroupBorder:
    alive = sorted(chain.alive[first])
    return GroupBorder(
        dying=tuple(t for t in alive if not chain.outlives(t, last)),
        born=tuple(op.output for op in chain.ops[first:last] if chain.outlives(op.output, last)),
        through=tuple(t for t in alive if chain.outlives(t, last)),
    )


def seed(chain: Chain, last: int, *, in_turn: bool = False) -> Growing:
    sinks = [(op.output, op.writes.h) for op in reversed(chain.lasting[last])]
    nothing = np.zeros(1, dtype=np.int64)
    return Growing(start(sinks, chain.source, in_turn=in_turn), nothing, nothing, in_turn=in_turn)


def grow(group: Growing, forms: Sequence[Member], *, is_sink: bool) -> Iterator[Growing]:
    writes = forms[0].op.writes
    for reader, k in group.trace.readers(forms[0].op.output):
        if (reader.op.reads[k].h, reader.op.reads[k].row_bytes) != (writes.h, writes.row_bytes):
            return
    for member in forms:
        trace = prepend(group.trace, member)
        rolling_buffer = None if is_sink else rolling_buffer_of(trace, member)
        yield _with(group, trace, member, rolling_buffer if rolling_buffer and rolling_buffer.nbytes else None)


def _grown(
    chain: Chain, groups: Sequence[Growing], first: int, last: int, ways: Mapping[bool, Budget]
) -> list[Growing]:
    is_sink, forms = chain.outlives(chain.ops[first].output, last), chain.members[first]
    found = [g for old in groups for g in grow(old, forms, is_sink=is_sink)]
    for g in found:
        ways[g.in_turn].spend(GROWN_SECONDS + ENTRY_SECONDS * len(g.trace))
    return found


def _branches(chain: Chain, last: int) -> int:
    wanted, read, count = {op.output for op in chain.lasting[last]}, set[TensorId](), 0
    for op in reversed(chain.ops[:last]):
        count += op.output in wanted and op.output not in read and op.writes.h > 1
        read.update(op.inputs if op.output in wanted or op.output in read else ())
    return count


def _distinct(groups: Iterable[Growing]) -> list[Growing]:
    found: dict[tuple[bytes, bytes], Growing] = {}
    for group in groups:
        found.setdefault((group.trace.entry.tobytes(), group.trace.iteration.tobytes()), group)
    return list(found.values())


def _orders(op: RowOp) -> Iterator[tuple[int, ...]]:
    n = len(op.inputs)
    if any(op.repeats(k) for k in range(n)):
        yield tuple(sorted(range(n), key=lambda k: not op.repeats(k)))
    else:
        yield from dict.fromkeys((tuple(range(n)), tuple(reversed(range(n)))))


def _with(group: Growing, trace: Trace, member: Member, rolling_buffer: Buffer | None) -> Growing:
    is_old = np.ones(trace.times, dtype=np.bool_)
    is_old[trace.iterations_of(member.key)[0]] = False
    gaps = group.gaps[is_old.cumsum() - is_old]
    alive = gaps.copy()
    alive[is_old] = group.alive
    for at_iteration, before in new_bytes(trace, member, rolling_buffer):
        alive, gaps = alive + at_iteration, gaps + before
    return Growing(trace, alive, gaps, macs=group.macs + _macs(trace, member), in_turn=group.in_turn)


def _iterative_pays(op: RowOp) -> bool:
    """Return whether an operator should keep int32 sums instead of its whole input (msf-CNN, section 7)."""
    if not op.reducible or op.scatters:
        return op.scatters
    saved = (op.reads[0].h - 1) * op.reads[0].row_bytes
    return op.accumulator_bytes < saved or op.window.kernel_h > MAX_KERNEL_H


def _settled(member: Member, made: Collection[TensorId], source: InputSource | None) -> Stage:
    op, piecemeal = member.op, {*made, source.tensor} if source else made
    if not member.iterative or op.inputs[0] in piecemeal:
        return member.stage
    able = op.is_convolution or (op.window.kernel_h <= MAX_KERNEL_H and not op.scatters)
    return replace(member.stage, iterative=False) if able else member.stage


def settle(trace: Trace) -> tuple[Stage, ...]:
    """Return the group's stages. If possible, an operator whose input is made outside the group reads the whole input,
    instead of summing row by row.
    """
    made = {m.op.output for m in trace.members}
    return tuple(_settled(m, made, trace.source) for m in trace.members)


def candidates(
    chain: Chain,
    last: int,
    limit: int,
    orders: int = MAX_ORDERS,
    length: int = MAX_OPERATORS,
    budget: Budget = UNBOUNDED,
    turns: Budget = UNBOUNDED,
) -> Iterator[Candidate]:
    """Yield the groups that end before position `last` and need at most `limit` bytes, shortest first.

    The shortest group is tried even if the time budget is used up. The argument `orders` is the number of operand
    orders to try. The argument `turns` is the time budget for groups that compute parts of several outputs in turn.
    """
    sizes, cuttable = chain.sizes, False
    ways = {False: budget, True: turns} if _branches(chain, last) > 1 else {False: budget}
    growing: Sequence[Growing] = _distinct(seed(chain, last, in_turn=way) for way in ways)
    for first in range(last - 1, -1, -1):
        if chain.rules_out(first, last) or (last - first > length and chain.can_cut(first + 1, last)):
            return
        if cuttable and not budget.allows(SearchPart.ROW_GROUPS):
            return
        grown = _grown(chain, growing, first, last, ways)
        ranked = sorted(((int(g.alive.max()), g) for g in grown), key=lambda pair: pair[0])
        fitting = _distinct(g for n, g in ranked if n + chain.across <= limit and (turns.left > 0 or not g.in_turn))
        growing = [g for way in ways for g in [g for g in fitting if g.in_turn == way][:orders]]
        if not growing:
            return
        at_border = border(chain, first, last)
        if not chain.can_cut(first, last) or _tensors(chain, first, last, at_border) > MAX_IO:
            continue
        cuttable = True
        through = chain.across + sum(sizes[t] for t in at_border.through)
        least, best = limit + 1, None
        for group in growing:
            found = Candidate(first, last, 0, group.macs, settle(group.trace), in_turn=group.in_turn)
            if any(stage is not m.stage for stage, m in zip(found.stages, group.trace.members, strict=True)):
                nbytes = exact_bytes(chain, found)
            else:
                nbytes = through + worst_bytes(group, at_border, sizes, least - through)
            if nbytes < least:
                least, best = nbytes, replace(found, nbytes=nbytes)
        if best:
            yield best


def _tensors(chain: Chain, first: int, last: int, at_border: GroupBorder) -> int:
    read = {t for op in chain.ops[first:last] for t in op.inputs}
    inputs = read.intersection(at_border.dying + at_border.through)
    from_outside = chain.source is not None and chain.source.tensor in read
    return len(inputs) + len(at_border.born) + from_outside


def worst_bytes(group: Growing, at_border: GroupBorder, sizes: Mapping[TensorId, int], enough: int = UNLIMITED) -> int:
    """Return a group's peak of live bytes, without tensors that the group does not use. If the peak is more than
    `enough` bytes, the result may be any number from `enough` to the peak.
    """
    alive = sum((r.top - r.bottom for r in streamed_ranges(group.trace)), group.alive)
    for t in at_border.dying:
        if alive.max() >= enough:
            break
        alive = alive + (sizes[t] - dead_bytes(group.trace, t, sizes[t]))
    return int(alive.max())


def rebuild(chain: Chain, candidate: Candidate, *, in_part: bool = False) -> tuple[Trace, Mapping[TensorId, Buffer]]:
    """If the argument `in_part` is true, only the first iterations of a tiled group are simulated."""
    members, sinks = members_of(chain, candidate)
    return chain.endings.rebuild(members, sinks, candidate.stripes, in_turn=candidate.in_turn, in_part=in_part)


def members_of(chain: Chain, candidate: Candidate) -> tuple[list[Member], list[int]]:
    stripes = candidate.stripes
    members = [chain.member(i, s, s.stripes(stripes)) for i, s in enumerate(candidate.stages, candidate.first)]
    return members, [m.key for m in reversed(members) if chain.outlives(m.op.output, candidate.last)]


def exact_bytes(chain: Chain, candidate: Candidate) -> int:
    return _bytes(chain, candidate, in_part=False)


def least_bytes(chain: Chain, candidate: Candidate) -> int:
    """Return a lower bound of exact_bytes() for a tiled group, found from the group's first iterations."""
    return 0 if chain.source else _bytes(chain, candidate, in_part=True)


def _bytes(chain: Chain, candidate: Candidate, *, in_part: bool) -> int:
    at_border = border(chain, candidate.first, candidate.last)
    through = chain.across + sum(chain.sizes[t] for t in at_border.through)
    ranges = live_ranges(*rebuild(chain, candidate, in_part=in_part), at_border, chain.sizes)
    return through + most_alive(ranges)


def executed_macs(trace: Trace) -> int:
    return sum(_macs(trace, m) for m in trace.members)


def _macs(trace: Trace, m: Member) -> int:
    iterated = m.op.reads[0] if m.iterative else m.op.writes
    _, executed = trace.iterations_of(m.key)
    return m.op.macs * m.pixels(executed) // (iterated.h * iterated.w * (m.nest.channel_groups - m.nest.sums))
