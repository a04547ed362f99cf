"""Simulates the order of a group's iterations, and finds when rows and pixels are written and last read.

An additional operator at the front never changes the order of later operators, so longer groups reuse the order of
shorter ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tflm_memopt.analysis.costs import Work
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.kernel_choice import tiles_below
from tflm_memopt.ops.packing import ON_CORE_0
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.nest import Ints, LoopNest, NestIterations, nest_iterations
from tflm_memopt.plan.plan import Stage
from tflm_memopt.rowgraph.graph import InputSource

SCRATCH_ALIGN = 4
OUTSIDE = -1
EXECUTE = -1
"""Request to run one iteration of an operator."""
_SLOTS = 32
"""An element of Trace.entry has a request in its low _SLOTS bits, and an operator's key in its high bits."""


@dataclass(frozen=True)
class Member:
    """An operator of a group, with its loops."""

    stage: Stage
    op: RowOp
    stripes: int = 0
    """Number of stripes of the group, or 0 if the operator runs row by row."""

    @cached_property
    def key(self) -> int:
        return self.stage.op

    @cached_property
    def iterative(self) -> bool:
        return self.stage.iterative

    @cached_property
    def nest(self) -> LoopNest:
        return self.stage.nest

    @cached_property
    def iterations(self) -> NestIterations:
        iterated = self.op.reads[0] if self.iterative else self.op.writes
        return nest_iterations(self.nest, self.stripes or iterated.h, iterated.h, iterated.w)

    @cached_property
    def works(self) -> dict[tuple[object, ...], Work]:
        return {}

    @cached_property
    def executed(self) -> dict[tuple[object, ...], KnownIterations]:
        return {}

    @cached_property
    def together(self) -> int:
        """Maximum number of consecutive iterations that the library computes in one call."""
        if self.stage.at_once > 1 or not self.stage.runs_packed(self.op):
            return self.stage.at_once
        return tiles_below(self.op.packing, self.op.window, self.nest.tile)

    @cached_property
    def sum_bytes(self) -> int:
        """Size in bytes of the int32 sums, which are kept for all outputs or, with channel groups, for one stripe."""
        if self.nest.sums:
            each = self.iterations
            return 4 * int((each.hi - each.lo).max()) * self.op.writes.row_bytes
        return self.op.accumulator_bytes if self.iterative else 0

    @cached_property
    def scratch_bytes(self) -> int:
        packed = not self.iterative and self.nest.channel_groups == 1
        columns, stage = self.nest.tile or self.op.writes.w, self.stage
        return self.op.scratch_bytes(columns, stage.at_once, stage.pixels, stage.packing(self.op)) if packed else 0

    @property
    def pixel_bytes(self) -> int:
        return -(-self.op.writes.c // self.nest.channel_groups) if self.nest.splits else self.op.writes.c

    def rows(self, k: int, iteration: Ints) -> tuple[Ints, Ints]:
        """Return the rows of input k that each iteration reads, as half-open ranges, which may be empty."""
        start, end = self._rows[k]
        return start[iteration], end[iteration]

    def columns(self, k: int, iteration: Ints) -> tuple[Ints, Ints]:
        start, end = self._columns[k]
        return start[iteration], end[iteration]

    def pixels(self, iteration: Ints) -> int:
        """Return the number of pixels that the iterations compute, or 0 for iterations that only write finished
        sums.
        """
        each = self.iterations
        if self.nest.by_rows:
            return len(iteration) * (self.op.reads[0].w if self.iterative else self.op.writes.w)
        some = iteration[each.channel_group[iteration] < self.nest.channel_groups - self.nest.sums]
        return int((each.x1 - each.x0)[some].sum())

    @cached_property
    def batches(self) -> tuple[Ints, Ints]:
        """For each iteration, the half-open range of iterations that the same kernel call computes."""
        each, most = self.iterations, self.stage.at_once
        number = np.arange(len(each), dtype=np.int64)
        if most == 1:
            return number, number + 1
        made = (each.hi - each.lo)[each.stripe]
        column, row = np.divmod(number - each.start[each.stripe], made)
        pieces = -(-made // most)
        high, wide = -(-made // pieces), np.maximum(most // made, 1)
        first_column, first_row = column // wide * wide, row // high * high
        end_column = np.minimum(first_column + wide, each.tiles)
        first = each.start[each.stripe] + first_column * made + np.where(pieces > 1, first_row, 0)
        end = np.where(
            pieces > 1, np.minimum(first + high, first - first_row + made), each.start[each.stripe] + end_column * made
        )
        return first, end

    @cached_property
    def rows_wanted(self) -> Sequence[Ints]:
        return [np.where(end > start, end, 0) for start, end in self._rows]

    @cached_property
    def _rows(self) -> Sequence[tuple[Ints, Ints]]:
        each, found = self.iterations, []
        for k in range(len(self.op.inputs)):
            start, end = (each.row, each.row + 1) if self.iterative else self.op.rows(k, each.row)
            if self.nest.sums and not self.iterative:
                # In the last channel group, an iteration reads sums and no input rows.
                end = np.where(each.channel_group == self.nest.channel_groups - 1, start, end)
            found.append((start, end))
        return found

    @cached_property
    def _columns(self) -> Sequence[tuple[Ints, Ints]]:
        x0, x1, columns = self.iterations.x0, self.iterations.x1, self.op.window.columns
        if self.iterative:
            return [(x0, x1)] * len(self.op.inputs)
        if not self.op.tileable:  # The kernel reads only whole rows.
            return [(0 * x0, 0 * x1 + rows.w) for rows in self.op.reads]
        # An operand that is broadcast along the row has only column 0.
        firsts = (np.minimum(columns.first(x0), rows.w - 1) for rows in self.op.reads)
        ends = (np.minimum(columns.end(x1 - 1), rows.w) for rows in self.op.reads)
        return [(np.maximum(0, first), end) for first, end in zip(firsts, ends, strict=True)]

    @cached_property
    def first_bytes(self) -> Sequence[Ints]:
        found = []
        for k, rows in enumerate(self.op.reads):
            pixel = self._rows[k][0] * rows.w
            if not self.nest.by_rows:
                pixel = pixel + self._columns[k][0]
            copied = self.nest.by_rows and self.op.moves is not None and not self.op.scatters
            found.append(np.maximum(pixel * rows.c, self._first_copied(k)) if copied else pixel * rows.c)
        return found

    def _first_copied(self, k: int) -> Ints:
        y, rows, access = self.iterations.row, self.op.reads[k], self.op.access[k]
        first = np.full(len(y), rows.nbytes, dtype=np.int64)
        for move in self.op.moves.moves if self.op.moves else ():
            row = access.first(y, rows.h) + move.tap
            there = (move.operand == k) & (row >= 0) & (row < rows.h)
            source = move.source + min(0, (move.count - 1) * move.source_step) + move.phase_step * move.phase(y)
            first = np.where(there, np.minimum(first, row * rows.row_bytes + source), first)
        return first

    @cached_property
    def bytes_written(self) -> Ints:
        """For each iteration, the end of the output bytes written so far, or 0 if the iteration only adds to sums."""
        each, out = self.iterations, self.op.writes
        if self.iterative:
            # An iterative operator writes its output in the last iteration, unless the operator scatters input rows.
            whole: Ints = ((np.arange(len(each)) == len(each) - 1) | self.op.scatters) * out.nbytes
            return whole
        if self.nest.splits:  # Each channel group writes some channels of every pixel of a stripe.
            stripe: Ints = each.hi[each.stripe] * out.row_bytes
            return stripe
        end: Ints = (each.row * out.w + each.x1) * out.c
        return end if self.nest.channel_groups == 1 else end * (each.channel_group == self.nest.channel_groups - 1)

    def iteration_making(self, reader: Member, iteration: Ints, row: Ints, column: Ints) -> Ints:
        if self.iterative:
            return np.full(len(iteration), len(self.iterations) - 1, dtype=np.int64)
        each = self.iterations
        channel_group = reader.iterations.channel_group[iteration] if self.nest.splits else self.nest.channel_groups - 1
        return each.index(each.stripe_making(row, reader.iterations.stripe[iteration]), channel_group, row, column)


@dataclass(frozen=True, slots=True)
class Lives:
    """For each pixel that an operator writes, the positions of two iterations: the write and the last read of the
    pixel.

    The field `stripes` is the number of stripes from the write of a pixel to its last read.
    """

    iteration: Ints
    written: Ints
    read: Ints
    stripes: Ints


@dataclass(frozen=True)
class Trace:
    members: tuple[Member, ...]
    entry: Ints
    """Each number of the array encodes an operator and a request. The request EXECUTE runs an iteration of the
    operator.
    """
    iteration: Ints
    """Index of the iteration that runs or, for a request from outside the group, of the requested iteration."""
    wanted: frozenset[TensorId]
    readers_of: Mapping[TensorId, tuple[tuple[Member, int], ...]]
    source: InputSource | None = None
    dead: dict[tuple[TensorId, int], Ints] = field(default_factory=dict, init=False)
    lives: dict[int, Lives] = field(default_factory=dict, init=False)
    _iterations: dict[int, tuple[Ints, Ints]] = field(default_factory=dict, init=False)
    _reads: dict[TensorId, tuple[Ints, Ints]] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return len(self.entry)

    @cached_property
    def moments(self) -> Ints:
        at: Ints = ((self.entry & ((1 << _SLOTS) - 1)) == 0).nonzero()[0]
        return at

    @property
    def times(self) -> int:
        """Number of moments: one before each iteration, and one after the last iteration."""
        return len(self.moments) + 1

    @cached_property
    def executed(self) -> Ints:
        return self.entry[self.moments] >> _SLOTS

    def iterations_of(self, key: int) -> tuple[Ints, Ints]:
        """Return two arrays with one entry for each iteration of the operator: the iteration's position among all
        iterations of the group, and the iteration's index.
        """
        if key not in self._iterations:
            (at,) = (self.executed == key).nonzero()
            self._iterations[key] = at, self.iteration[self.moments[at]]
        return self._iterations[key]

    def requests(self, op: int, slot: int) -> Ints:
        found: Ints = (self.entry == _entry(op, slot)).nonzero()[0]
        return found

    def core_1_scratch(self, member: Member) -> int:
        """Return the offset of core 1's scratch memory in bytes while the operator runs, or 0 if core 1 has none.

        For depthwise operators, core 1's scratch lies behind the largest scratch of core 0, so that no core waits for
        the other. Core 1 runs no operator whose packing is in ON_CORE_0.
        """
        if not member.op.core_1_counters or not member.scratch_bytes or member.op.packing in ON_CORE_0:
            return 0
        small = member.op.is_depthwise
        most = max(m.scratch_bytes for m in self.members) if small else member.scratch_bytes
        return -(-most // SCRATCH_ALIGN) * SCRATCH_ALIGN

    def readers(self, tensor: TensorId) -> Sequence[tuple[Member, int]]:
        return self.readers_of.get(tensor, ())

    def reads(self, tensor: TensorId) -> tuple[Ints, Ints]:
        if tensor not in self._reads:
            each = ((m.first_bytes[k], *self.iterations_of(m.key)) for m, k in self.readers(tensor))
            self._reads[tensor] = _merged([(at, first[iteration]) for first, at, iteration in each])
        return self._reads[tensor]


def _merged(parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    if len(parts) < 2:
        return parts[0] if parts else (np.zeros(0, dtype=np.int64),) * 2
    at, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = at.argsort(kind="stable")
    return at[order], values[order]


def _entry(op: int, slot: int) -> int:
    return (op << _SLOTS) + slot - EXECUTE


def start(sinks: Sequence[tuple[TensorId, int]], source: InputSource | None = None, *, in_turn: bool = False) -> Trace:
    """Return a simulation in which tensors are requested but no operator runs yet.

    The argument `sinks` lists the requested tensors, and how many iterations make each tensor. If the argument
    `in_turn` is true, the requests alternate between the tensors, so that branched groups free rows early.
    """
    wanted = np.concatenate([np.arange(n, dtype=np.int64) for _, n in sinks])
    entry = np.concatenate([np.full(n, _entry(OUTSIDE, tensor), dtype=np.int64) for tensor, n in sinks])
    if in_turn:
        turns = np.concatenate([np.arange(1, n + 1) / n for _, n in sinks]).argsort(kind="stable")
        wanted, entry = wanted[turns], entry[turns]
    return Trace((), entry, wanted, frozenset(tensor for tensor, _ in sinks), {}, source)


def traced(
    members: Sequence[Member], sinks: Sequence[int], source: InputSource | None = None, *, in_turn: bool = False
) -> Trace:
    trace = start(requested(members, sinks), source, in_turn=in_turn)
    for member in reversed(members):
        trace = prepend(trace, member)
    return trace


def requested(members: Sequence[Member], sinks: Sequence[int]) -> list[tuple[TensorId, int]]:
    made = {m.key: m for m in members}
    wanted = (made[key] for key in sinks)
    return [(m.op.output, m.op.writes.h if m.iterative and not m.stripes else len(m.iterations)) for m in wanted]


@dataclass(frozen=True, slots=True)
class KnownIterations:
    iterations: Ints
    calls: int
    """Lower bound of the number of calls if each call computes at most Member.together iterations."""
    number: int = field(default_factory=itertools.count().__next__)
    works: dict[tuple[bool, bool, bool], tuple[Work, ...]] = field(default_factory=dict)


def executed(members: Sequence[Member], sinks: Sequence[int]) -> dict[int, KnownIterations]:
    found, wanted = dict[int, KnownIterations](), dict(requested(members, sinks))
    for i, member in reversed(list(enumerate(members))):
        readers = [(m, k) for m in members[i + 1 :] for k, t in enumerate(m.op.inputs) if t == member.op.output]
        key = wanted.get(member.op.output), tuple((k, found[m.key].number) for m, k in readers)
        if key not in member.executed:
            member.executed[key] = _executed(member, wanted.get(member.op.output, 0), readers, found)
        found[member.key] = member.executed[key]
    return found


def _executed(
    member: Member, wanted: int, readers: Sequence[tuple[Member, int]], found: Mapping[int, KnownIterations]
) -> KnownIterations:
    need = [_iterations_demanded(member, m, k, found[m.key].iterations) for m, k in readers]
    if wanted or not readers:
        need.append(np.full(wanted, len(member.iterations)) if member.iterative else np.arange(1, wanted + 1))
    # Only a simulation gives the exact order of the requests of several readers.
    requests = need[0] if len(need) == 1 else np.sort(np.concatenate(need))
    counts, iterations = _requested_iterations(member, requests, member.batches[1])
    together = counts.sum(keepdims=True)
    if len(need) == len(readers) == 1 and len(counts):  # A single reader requests all inputs of a call at once.
        reader = readers[0][0]
        first = reader.batches[0][found[reader.key].iterations]
        together = np.add.reduceat(counts, np.flatnonzero(np.diff(first, prepend=-1)))
    calls = int((-(-together // member.together)).sum())
    same = iterations.tobytes() if member.nest.recomputes else len(iterations), calls
    return member.executed.setdefault(same, KnownIterations(iterations, calls))


def _requested_iterations(member: Member, need: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return two arrays: how many iterations run for each request, and the indices of all iterations in execution
    order.

    Before request `i` is met, `need[i]` iterations must be complete.
    """
    produced = np.append(0, end)[np.maximum.accumulate(need)]
    before = _shifted(produced)
    if member.nest.recomputes:  # The operator first skips to the stripe of the requested row.
        each = member.iterations
        before = np.where(produced > before, np.maximum(before, each.start[each.stripe[produced - 1]]), before)
    counts = produced - before
    iteration = np.arange(int(counts.sum()), dtype=np.int64)
    if member.nest.recomputes:
        iteration += (produced - counts.cumsum()).repeat(counts)
    return counts, iteration


def beginning(trace: Trace, most: int) -> Trace:
    return Trace(
        trace.members, trace.entry[:most], trace.iteration[:most], trace.wanted, trace.readers_of, trace.source
    )


def prepend(trace: Trace, member: Member) -> Trace:
    """Add an operator at the front of a group. The operator runs just before each request for its output."""
    demands, need = _demands(trace, member)
    several = member.stage.at_once > 1 and member.nest.by_rows and len(demands)
    first, end = _rows_at_once(member, demands, need) if several else member.batches
    counts, iteration = _requested_iterations(member, need, end)
    number = np.arange(len(iteration), dtype=np.int64)

    # Each request for output rows becomes requests for input rows and iterations of the operator.
    pattern = [_entry(member.key, slot) for slot in (*member.stage.operands, EXECUTE)]
    where = _together(trace, member, demands.repeat(counts))
    inserted = np.bincount(where, minlength=len(trace)) * len(pattern)
    room = inserted + 1
    room[demands] -= 1
    start, size = first[iteration], (end - first)[iteration]
    slots, position = len(member.stage.operands), iteration - start
    place = (room.cumsum() - room - inserted.cumsum() + inserted)[where] + (number - position) * len(pattern)
    entries, iterations = trace.entry.repeat(room), trace.iteration.repeat(room)
    for step, entry in enumerate(pattern):
        at = place + (size * slots + position if step == slots else position * slots + step)
        entries[at], iterations[at] = entry, iteration
    inputs = member.op.inputs
    mine = {t: tuple((member, k) for k, read in enumerate(inputs) if read == t) for t in inputs}
    readers = {**trace.readers_of, **{t: (*new, *trace.readers(t)) for t, new in mine.items()}}
    return Trace((member, *trace.members), entries, iterations, trace.wanted, readers, trace.source)


def _rows_at_once(member: Member, demands: Ints, need: Ints) -> tuple[Ints, Ints]:
    """Return the first row and the end row of each iteration's kernel call. The first call may compute fewer rows, so
    that as many requests as possible end with the last row of a call.
    """
    most = member.stage.at_once
    last = np.append(np.diff(demands) > 1, True)
    shift = int(np.bincount(need[last] % most).argmax())
    start = (np.arange(len(member.iterations), dtype=np.int64) - shift) // most * most + shift
    return np.maximum(start, 0), np.minimum(start + most, len(member.iterations))


def _together(trace: Trace, member: Member, at: Ints) -> Ints:
    """Operators that add up the same rows run together, so that no buffer must keep the rows."""
    if member.iterative and not member.nest.recomputes:
        for reader, k in trace.readers(member.op.inputs[0]):
            if reader.iterative and reader.nest == member.nest and reader.stripes == member.stripes:
                earlier = trace.requests(reader.key, k)
                at = np.minimum(at, earlier) if len(earlier) == len(at) else at
    return at


def _demands(trace: Trace, producer: Member) -> tuple[Ints, Ints]:
    tensor, parts = producer.op.output, []
    if tensor in trace.wanted:
        at = trace.requests(OUTSIDE, tensor)
        every = np.full(len(at), len(producer.iterations))
        parts.append((at, every if producer.iterative else trace.iteration[at] + 1))
    for member, k in trace.readers(tensor):
        at = trace.requests(member.key, k)
        parts.append((at, _iterations_demanded(producer, member, k, trace.iteration[at])))
    return _merged(parts)


def _iterations_demanded(producer: Member, reader: Member, k: int, iteration: Ints) -> Ints:
    if producer.nest.by_rows and not producer.iterative:
        return reader.rows_wanted[k][iteration]
    need = np.zeros(len(iteration), dtype=np.int64)
    first, end = reader.rows(k, iteration)
    left, right = reader.columns(k, iteration)
    some = (end > first) & (right > left)
    need[some] = producer.iteration_making(reader, iteration[some], end[some] - 1, right[some] - 1) + 1
    return need


def rolling_buffer_depth(trace: Trace, producer: Member) -> int:
    at, iteration = trace.iterations_of(producer.key)
    row_bytes = producer.op.writes.row_bytes
    rows = producer.bytes_written[iteration] // row_bytes
    dead = dead_bytes(trace, producer.op.output, producer.op.writes.nbytes)
    needed = dead[at] // row_bytes
    return max(1, int((rows - needed).max())) if len(rows) else 0


def dead_bytes(trace: Trace, tensor: TensorId, nbytes: int) -> Ints:
    """For each iteration and the group's end, return how many bytes at the tensor's start are never read again."""
    key = tensor, nbytes
    if key not in trace.dead:
        number, first = trace.reads(tensor)
        future = np.empty(len(first) + 1, dtype=np.int64)
        future[:-1], future[-1] = first, nbytes
        future = np.minimum.accumulate(future[::-1])[::-1]
        trace.dead[key] = _changing(future, number + 1, trace.times)
    return trace.dead[key]


def written_bytes(trace: Trace, member: Member) -> tuple[Ints, Ints]:
    """Return how many output bytes exist before each iteration, and how many exist after each iteration."""
    at, iteration = trace.iterations_of(member.key)
    written = np.zeros(len(iteration) + 1, dtype=np.int64)
    np.maximum.accumulate(member.bytes_written[iteration], out=written[1:])
    after = _changing(written, at, trace.times)
    return _shifted(after), after


def _shifted(values: Ints) -> Ints:
    before = np.empty(len(values), dtype=np.int64)
    before[:1], before[1:] = 0, values[:-1]
    return before


def _changing(values: Ints, at: Ints, length: int) -> Ints:
    edges = np.empty(len(values) + 1, dtype=np.int64)
    edges[0], edges[1:-1], edges[-1] = 0, at, length
    return values.repeat(edges[1:] - edges[:-1])
