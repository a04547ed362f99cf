"""Finds the live bytes of each buffer at every iteration of a group, and the minimum distance between two buffers.

The live bytes of a tensor are one range: an input shrinks from its bottom, and an output grows at its top. For one
input and one output, the minimum distance is min(b_In - b_Out) in section 4 of the paper on vMCU. If an operator does
not work in place, its output bytes become live before its input bytes are freed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.iteration.column_windows import column_windows_of, lives, slots
from tflm_memopt.plan.iteration.trace import Member, Trace, dead_bytes, rolling_buffer_depth, written_bytes
from tflm_memopt.plan.nest import Ints
from tflm_memopt.plan.plan import Buffer, Role
from tflm_memopt.rowgraph.graph import AccessOrder

COUNTER_BYTES = 2
TILED_COUNTER_BYTES = 8
"""Size in bytes of an operator's loop counters for stripe, channel group, tile and row."""


@dataclass(frozen=True, slots=True)
class LiveRange:
    """The live bytes [bottom, top) of a buffer at each iteration of a group and after the last iteration."""

    buffer: Buffer
    bottom: Ints
    top: Ints
    before: Ints
    """End of the buffer's live bytes during the last read of each iteration."""
    replaces: frozenset[TensorId] = frozenset()
    """Inputs that the operator may overwrite when it writes the buffer."""
    ends_on: frozenset[TensorId] = frozenset()
    """Inputs that only the last output byte of an iteration may overwrite."""
    before_write: Ints | None = None
    """End of a rolling buffer's live bytes just before each iteration writes, or None for a whole tensor."""

    def from_the_end(self) -> LiveRange:
        nbytes = self.buffer.nbytes
        return replace(self, bottom=nbytes - self.top, top=nbytes - self.bottom, before=nbytes - self.bottom)

    def in_full(self) -> LiveRange:
        """Treat all bytes of a tensor as live all the time, so that nothing overlaps the tensor."""
        if self.buffer.role is not Role.TENSOR:
            return self
        full = np.full_like(self.top, self.buffer.nbytes)
        return replace(self, bottom=np.zeros_like(self.top), top=full, before=full)


@dataclass(frozen=True, slots=True)
class GroupBorder:
    dying: tuple[TensorId, ...]
    """Tensors that are live before the group, but not after the group."""
    born: tuple[TensorId, ...]
    """Tensors that the group writes and that are live after the group."""
    through: tuple[TensorId, ...]


def rolling_buffer_of(trace: Trace, member: Member) -> Buffer:
    """A tiled group stores pixels in the rolling buffer, and any other group stores rows."""
    tensor = member.op.output
    if not member.stripes:
        depth = rolling_buffer_depth(trace, member)
        return Buffer(Role.ROLLING_BUFFER, tensor, depth * member.op.writes.row_bytes, depth=depth)
    windows = column_windows_of(trace, member)
    nbytes = sum(window.depth for window in windows) * member.pixel_bytes
    return Buffer(Role.ROLLING_BUFFER, tensor, nbytes, column_windows=windows)


def least_buffer(trace: Trace, member: Member) -> Buffer:
    """Return a rolling buffer, which may be too small if the trace lacks the last iterations."""
    pixels, life, each = member.op.writes.w, lives(trace, member), member.iterations
    if not member.iterative:
        made, length = (each.x1 - each.x0)[life.iteration], trace.times
        dead = np.bincount(life.read + 1, made, length)
        pixels = int((np.bincount(life.written, made, length) - dead).cumsum().max())
    return Buffer(Role.ROLLING_BUFFER, member.op.output, pixels * member.pixel_bytes)


def live_ranges(
    trace: Trace, rolling_buffers: Mapping[TensorId, Buffer], border: GroupBorder, sizes: Mapping[TensorId, int]
) -> tuple[LiveRange, ...]:
    moments = np.arange(trace.times, dtype=np.int64)
    zero = np.zeros(len(moments), dtype=np.int64)
    writers = {m.op.output: m for m in trace.members}
    result = []
    inner = rolling_buffers.keys()
    for t in border.dying:
        full = zero + sizes[t]
        result.append(LiveRange(Buffer(Role.TENSOR, t, sizes[t]), dead_bytes(trace, t, sizes[t]), full, full))
    for t in (t for t in border.born if t in sizes):
        top, before = _growth(trace, writers[t])
        outside = inner | {trace.source.tensor} if trace.source else inner
        ends_on = frozenset(writers[t].op.inputs).difference(outside) if ends_late(writers[t]) else frozenset()
        replaces = _replaces(trace, writers[t], inner)
        result.append(LiveRange(Buffer(Role.TENSOR, t, sizes[t]), zero, top, before, replaces, ends_on))
    for t, rolling in rolling_buffers.items():
        writer = writers[t]
        top, before_write = (used * rolling.nbytes for used in _in_use(trace, writer))
        before = _before_last_read(trace, writer, rolling, before_write) if writer.op.in_place else top
        result.append(LiveRange(rolling, zero, top, before, _replaces(trace, writer, inner), before_write=before_write))
    for m in trace.members:
        at, _ = trace.iterations_of(m.key)
        if (nbytes := m.sum_bytes) and len(at):
            full = ((moments >= at[0]) & (moments <= at[-1])) * nbytes
            result.append(LiveRange(Buffer(Role.ACCUMULATOR, m.op.output, nbytes), zero, full, full))
    tiled = any(m.stripes for m in trace.members)
    counters = len(trace.members) * (TILED_COUNTER_BYTES if tiled else COUNTER_BYTES)
    counters += max(m.op.core_1_counters for m in trace.members)
    full = zero + counters
    result.append(LiveRange(Buffer(Role.COUNTERS, -1, counters), zero, full, full))
    return (*result, *_scratch(trace), *streamed_ranges(trace))


def _scratch(trace: Trace) -> Iterator[LiveRange]:
    """All operators of a group share the scratch memory, because only one operator runs at a time."""
    zero = np.zeros(trace.times, dtype=np.int64)
    full = zero.copy()
    for m in trace.members:
        own = m.scratch_bytes + trace.core_1_scratch(m) + converted_bytes(trace, m, tiled=m.stripes > 0)
        if own:
            full[trace.iterations_of(m.key)[0]] = own
    if nbytes := int(full.max()):
        yield LiveRange(Buffer(Role.SCRATCH, -1, nbytes), zero, full, full)


def streamed_ranges(trace: Trace) -> Iterator[LiveRange]:
    source, found = trace.source, arrivals(trace)
    if source is None or found is None:
        return
    tensor, moments = source.tensor, np.arange(trace.times, dtype=np.int64)
    zero = np.zeros(len(moments), dtype=np.int64)

    def alive(role: Role, nbytes: int, first: int, last: int, depth: int = 0) -> LiveRange:
        full = ((moments >= first) & (moments <= last)) * nbytes
        return LiveRange(Buffer(role, tensor, nbytes, depth=depth), zero, full, full)

    # If no operator of the group reads the last rows of the input, the last rows arrive after the group has run.
    yield alive(Role.TENSOR, source.pushed * source.row_bytes, 0, found.last if found.all_rows else len(moments))
    if found.depth:
        yield alive(Role.ROLLING_BUFFER, found.depth * source.row_bytes, int(found.pushed[0]), found.last, found.depth)


def new_bytes(trace: Trace, member: Member, rolling_buffer: Buffer | None) -> Iterator[tuple[Ints | int, Ints | int]]:
    """Yield pairs: the live bytes during each iteration, and the live bytes just before each iteration. The argument
    `rolling_buffer` holds the operator's output, or is None if the output stays whole.
    """
    moments = np.arange(trace.times, dtype=np.int64)
    before, after = written_bytes(trace, member)
    if rolling_buffer is None:
        yield _growth(trace, member)[1], before
    else:
        dead = dead_bytes(trace, member.op.output, member.op.writes.nbytes)
        top = before if member.op.in_place else after
        yield ((top > dead) | (top > before)) * rolling_buffer.nbytes, (before > dead) * rolling_buffer.nbytes
    if nbytes := member.sum_bytes:
        at, _ = trace.iterations_of(member.key)
        running = (moments >= at[0]) & (moments <= at[-1])
        yield running * nbytes, (running & (moments > at[0])) * nbytes
    if nbytes := member.scratch_bytes + converted_bytes(trace, member, tiled=False):
        taken = np.zeros(len(moments), dtype=np.int64)
        taken[trace.iterations_of(member.key)[0]] = nbytes
        yield taken, 0
    yield COUNTER_BYTES, COUNTER_BYTES


def _in_use(trace: Trace, writer: Member) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    if not writer.stripes:
        dead = dead_bytes(trace, writer.op.output, writer.op.writes.nbytes)
        before, top = written_bytes(trace, writer)
        in_use = (top > dead) | (top > before)  # Written bytes count as live even if no operator reads them.
        return in_use, before > dead
    life, length = lives(trace, writer), trace.times
    written = np.bincount(life.written, minlength=length)
    alive = np.cumsum(written - np.bincount(life.read + 1, minlength=length))
    return alive > 0, alive > written


def _before_last_read(trace: Trace, writer: Member, rolling_buffer: Buffer, before_write: Ints) -> Ints:
    """While a tiled group writes a pixel, all bytes of the buffer below the pixel count as live, so that outputs
    overlap inputs by whole pixels only.
    """
    if not writer.stripes:
        return before_write
    life, below = lives(trace, writer), np.zeros(trace.times, dtype=np.int64)
    below[life.written] = slots(writer, life, rolling_buffer.column_windows) * writer.pixel_bytes
    return np.maximum(before_write, below)


def _growth(trace: Trace, writer: Member) -> tuple[Ints, Ints]:
    """Return how many output bytes exist after each iteration, and how many exist at the iteration's last read."""
    before, top = written_bytes(trace, writer)
    if writer.op.in_place:
        return top, before
    return top, top - (top > before) if ends_late(writer) else top


def ends_late(writer: Member) -> bool:
    """Return whether each iteration writes its last output byte after its last read."""
    return writer.op.ends_late and not writer.iterative and writer.nest.channel_groups == 1


def _replaces(trace: Trace, writer: Member, rolling_buffers: Collection[TensorId]) -> frozenset[TensorId]:
    """No operator may overwrite a streamed input, because the rows of a streamed input move. Pixels of a tile with
    several columns may wrap around in a rolling buffer, so no output may overwrite the buffer.
    """
    if not writer.op.in_place:
        return frozenset()
    inputs = writer.op.replaceable.difference((trace.source.tensor,) if trace.source else ())
    if writer.nest.by_rows or writer.nest.tile == 1:
        return inputs
    return frozenset() if writer.op.output in rolling_buffers else inputs.difference(rolling_buffers)


def most_alive(ranges: Iterable[LiveRange]) -> int:
    return int(sum((np.maximum(c.before - c.bottom, 0) for c in ranges), np.zeros(1, dtype=np.int64)).max(initial=0))


def constraints(ranges: Sequence[LiveRange]) -> dict[tuple[int, int], int]:
    """For each pair (lower, upper) of buffers that are live together, return the minimum distance between their starts
    in bytes.
    """
    result: dict[tuple[int, int], int] = {}
    live = [r.top > r.bottom for r in ranges]
    for u, a in enumerate(ranges):
        for v, b in enumerate(ranges[:u]):
            if np.any(live[u] & live[v]):
                result[u, v], result[v, u] = _constraint(a, b), _constraint(b, a)
    return result


def _constraint(lower: LiveRange, upper: LiveRange) -> int:
    """An operator that works in place reads each input byte before it writes to the byte's address. If an operator
    writes its last byte after all reads, the last byte may also overlap an input.
    """
    is_tensor = upper.buffer.role in (Role.TENSOR, Role.ROLLING_BUFFER)
    replacing = is_tensor and upper.buffer.key in lower.replaces
    top = lower.before if replacing or (is_tensor and upper.buffer.key in lower.ends_on) else lower.top
    both = (top > lower.bottom) & (upper.top > upper.bottom)
    distance = int((top - upper.bottom)[both].max(initial=-lower.buffer.nbytes - upper.buffer.nbytes))
    if not replacing:
        return distance
    # A new row overwrites older rows, some of which may be read later.
    before_write = upper.top if upper.before_write is None else upper.before_write
    later = (lower.top > lower.before)[:-1] & (before_write > upper.bottom)[1:]
    return int((lower.top[:-1] - upper.bottom[1:])[later].max(initial=max(distance, 0)))


def kernel_ranges(
    dying: Mapping[TensorId, AccessOrder], born: TensorId, scratch: int, sizes: Mapping[TensorId, int]
) -> Iterator[LiveRange]:
    """Whole inputs are live in the first step, so that TFLM's scratch cannot overlap an input."""
    steps = 0
    for tensor, order in dying.items():
        steps = int(order.written.max(initial=-1)) + 1
        bottom, top = _still_read(order.last_read, steps)
        bottom[0], top[0] = 0, sizes[tensor]
        yield LiveRange(Buffer(Role.TENSOR, tensor, sizes[tensor]), bottom, top, top)
    for order in [*dying.values()][:1]:
        bottom, top = _written(order.written, steps)
        yield LiveRange(Buffer(Role.TENSOR, born, sizes[born]), bottom, top, top)
    if scratch:
        full = np.full(steps + 1, scratch)
        yield LiveRange(Buffer(Role.SCRATCH, -1, scratch), np.zeros_like(full), full, full)


def _still_read(last: Ints, steps: int) -> tuple[Ints, Ints]:
    at = np.arange(len(last))
    lowest, highest = np.full(steps + 1, len(last)), np.zeros(steps + 1, np.int64)
    np.minimum.at(lowest, last, np.where(last < 0, len(last), at))
    np.maximum.at(highest, last, np.where(last < 0, 0, at + 1))
    bottom = np.minimum.accumulate(lowest[::-1])[::-1]
    top = np.maximum.accumulate(highest[::-1])[::-1]
    return bottom, top


def _written(first: Ints, steps: int) -> tuple[Ints, Ints]:
    at = np.arange(len(first))
    lowest, highest = np.full(steps + 1, len(first)), np.zeros(steps + 1, np.int64)
    np.minimum.at(lowest, first + 1, at)
    np.maximum.at(highest, first + 1, at + 1)
    return np.minimum.accumulate(lowest), np.maximum.accumulate(highest)


def converted_bytes(trace: Trace, member: Member, *, tiled: bool) -> int:
    """Return how many bytes of an external input are converted to int8 at once."""
    source, op, total = trace.source, member.op, 0
    if source is None or source.pushed or op.element_bytes > 1:
        return 0
    for k, (tensor, rows) in enumerate(zip(op.inputs, op.reads, strict=True)):
        if tensor == source.tensor:
            one = member.iterative or (k > 0 and not op.access)
            high = 1 if one else op.access[k].extent if op.access else min(op.window.kernel_h, rows.h)
            wide = 1 if one else min(op.window.kernel_w, rows.w)
            total += high * (wide * rows.c if tiled else rows.row_bytes)
    return total


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Moments at which the caller pushes rows of a streamed input, each as late as possible. The streamed tensor holds
    only the newest rows. A rolling buffer keeps the older rows.
    """

    depth: int
    pushed: Ints
    """Positions of the iterations that wait for new rows. The first rows of the streamed input arrive before the group
    starts.
    """
    last: int
    all_rows: bool
    """Whether an iteration of the group reads the last input row, which otherwise arrives after the group has run."""


def arrivals(trace: Trace) -> Arrivals | None:
    source = trace.source
    if source is None or not source.pushed or not (parts := list(_readings(trace, source.tensor))):
        return None
    at, first, end = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(at, kind="stable")
    at, first, end = at[order], first[order], end[order]
    n = source.pushed
    here = -(-np.maximum.accumulate(end) // n) * n
    wanted = np.minimum.accumulate(first[::-1])[::-1]
    more = np.flatnonzero(here > np.concatenate(([n], here[:-1])))
    depth = int(np.max(here[more] - n - wanted[more], initial=0))
    return Arrivals(max(0, depth), at[more], int(at[-1]), bool(here[-1] == source.height))


def _readings(trace: Trace, tensor: TensorId) -> Iterator[tuple[Ints, Ints, Ints]]:
    for member, k in trace.readers(tensor):
        at, iteration = trace.iterations_of(member.key)
        first, end = member.rows(k, iteration)
        some = end > first
        yield at[some], first[some], end[some]
