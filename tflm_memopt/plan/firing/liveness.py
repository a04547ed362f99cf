"""Which bytes of which buffer hold something at every firing of a block, and how close two buffers may therefore come.

A buffer's content at a firing is one range of its bytes: a whole input loses rows at its bottom, a whole output gains
rows at its top, a ring or an accumulator is either empty or counts in full. From these ranges follow the bytes that are
alive at once (the lower bound) and the separation of any two buffers. For one input and one output that separation is
vMCU's min(b_In - b_Out) (section 4), here for any block and any pair. A firing writes before it reads, unless its
operator works in place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.firing.arrivals import arrivals, converted_bytes
from tflm_memopt.plan.firing.lanes import Lives, lanes_of, lives, slots
from tflm_memopt.plan.firing.trace import Member, Trace, dead_bytes, ring_depth, written_bytes
from tflm_memopt.plan.plan import Lane, Role
from tflm_memopt.plan.walk import Ints
from tflm_memopt.rowgraph.graph import InputSource


@dataclass(frozen=True, slots=True)
class Content:
    """What a buffer holds at each firing of a block and at its end: bytes [bottom, top), none where top <= bottom."""

    role: Role
    key: int
    nbytes: int
    bottom: Ints
    top: Ints
    before: Ints
    """`top` when the firing itself reads for the last time: before its writes if it works in place, but not below where
    it writes.
    """
    replaces: frozenset[TensorId] = frozenset()
    """Tensors whose rows the buffer's writer may overwrite in place."""
    ends_on: frozenset[TensorId] = frozenset()
    """Tensors on which the last byte of a firing may lie, though the firing reads them."""
    depth: int = 0
    lanes: tuple[Lane, ...] = ()
    """RING: see Ring."""

    def from_the_end(self) -> Content:
        """This content with its bytes counted from the last to the first."""
        top = self.nbytes - self.bottom
        return replace(self, bottom=self.nbytes - self.top, top=top, before=top)

    def in_full(self) -> Content:
        """All bytes of a whole tensor for as long as the block runs: nothing may grow into it, nor it into anything."""
        if self.role is not Role.TENSOR:
            return self
        full = np.full_like(self.top, self.nbytes)
        return replace(self, bottom=np.zeros_like(self.top), top=full, before=full)


@dataclass(frozen=True, slots=True)
class BlockBorder:
    """Whole tensors at the border of a block."""

    dying: tuple[TensorId, ...]
    """Read here for the last time."""
    born: tuple[TensorId, ...]
    """Written here, read later."""
    through: tuple[TensorId, ...]
    """Alive before and after."""


@dataclass(frozen=True, slots=True)
class Ring:
    """How much of an inner tensor is kept: `depth` rows in a row block, in a tiled one lanes and its pixels' lives."""

    nbytes: int
    depth: int = 0
    lanes: tuple[Lane, ...] = ()
    life: Lives | None = None


def ring_of(trace: Trace, member: Member) -> Ring:
    """What has to be kept of the output of an operator inside a block: of a row block rows, of a tiled one pixels."""
    if not member.strips:
        depth = ring_depth(trace, member)
        return Ring(depth * member.op.writes.row_bytes, depth)
    life = lives(trace, member)
    lanes = lanes_of(member, life)
    return Ring(sum(lane.depth for lane in lanes) * member.pixel_bytes, lanes=lanes, life=life)


def contents(
    trace: Trace,
    border: BlockBorder,
    rings: Mapping[TensorId, Ring],
    sizes: Mapping[TensorId, int],
    counter_bytes: int,
    frame: InputSource | None,
) -> tuple[Content, ...]:
    """All buffers of a block, tensors that merely live through it excepted. `rings`: of the inner tensors."""
    moments = trace.end
    zero = np.zeros(len(moments), dtype=np.int64)
    writers = {m.op.output: m for m in trace.members}
    result = []
    for t in border.dying:
        full = zero + sizes[t]
        result.append(Content(Role.TENSOR, t, sizes[t], dead_bytes(trace, t, sizes[t]), full, full))
    for t in (t for t in border.born if t in sizes):
        top, before = _growth(trace, writers[t])
        replaces, ends_on = _replaces(writers[t], rings.keys(), frame), _ends_on(writers[t], rings.keys(), frame)
        result.append(Content(Role.TENSOR, t, sizes[t], zero, top, before, replaces, ends_on))
    for t, ring in rings.items():
        top, before = (used * ring.nbytes for used in _in_use(trace, writers[t], ring, moments))
        before = np.maximum(before, _below_pixels(writers[t], ring, moments))
        replaces = _replaces(writers[t], rings.keys(), frame)
        nothing = frozenset[TensorId]()
        result.append(Content(Role.RING, t, ring.nbytes, zero, top, before, replaces, nothing, ring.depth, ring.lanes))
    for m in trace.members:
        if nbytes := m.sum_bytes:
            at, _ = trace.fires(m.key)
            full = ((moments >= at[0]) & (moments <= at[-1])) * nbytes
            result.append(Content(Role.ACCUMULATOR, m.op.output, nbytes, zero, full, full))
    full = zero + counter_bytes
    result.append(Content(Role.COUNTERS, -1, counter_bytes, zero, full, full))
    tiled = any(not m.walk.by_rows for m in trace.members)
    return (*result, *_scratch(trace, frame, moments, tiled=tiled), *frame_contents(trace, frame))


def _scratch(trace: Trace, frame: InputSource | None, moments: Ints, *, tiled: bool) -> Iterator[Content]:
    """What kernels and conversions take for one firing: they share it, since no two operators fire at once."""
    zero = np.zeros(len(moments), dtype=np.int64)
    full = zero.copy()
    for m in trace.members:
        own = m.scratch_bytes + trace.second_scratch(m)
        full[trace.order(m.key)] = own + _converted(m, frame, tiled=tiled)
    if nbytes := int(full.max()):
        yield Content(Role.SCRATCH, -1, nbytes, zero, full, full)


def _converted(m: Member, frame: InputSource | None, *, tiled: bool) -> int:
    """Pixels of an external input that become int8 for one window."""
    if frame is None or frame.pushed or frame.tensor not in m.op.inputs:
        return 0
    return converted_bytes(m.op, frame, tiled=tiled, iterative=m.iterative)


def frame_contents(trace: Trace, frame: InputSource | None) -> Iterator[Content]:
    """What a streamed input takes; nothing in a block that does not read it."""
    if frame is None or not frame.pushed:
        return
    moments = trace.end
    zero = np.zeros(len(moments), dtype=np.int64)

    def alive(role: Role, nbytes: int, first: int, last: int, depth: int = 0) -> Content:
        full = ((moments >= first) & (moments <= last)) * nbytes
        return Content(role, frame.tensor, nbytes, zero, full, full, depth=depth)

    if found := arrivals(trace, frame):
        # rows that nobody asks for are pushed, too, when the block is done
        yield alive(Role.TENSOR, frame.pushed * frame.row_bytes, 0, found.last if found.all_rows else len(trace))
        if found.depth:
            yield alive(Role.RING, found.depth * frame.row_bytes, int(found.pushed[0]), found.last, found.depth)


def new_contents(
    trace: Trace, member: Member, ring: Ring | None, counter_bytes: int, frame: InputSource | None
) -> Iterator[tuple[Ints | int, Ints | int]]:
    """Bytes that an operator of a row block adds at each firing and before it: output (None: whole), sums, ..."""
    moments = trace.end
    before, after = written_bytes(trace, member)
    if ring is None:
        yield _growth(trace, member)[1], before
    else:
        dead = dead_bytes(trace, member.op.output, member.op.writes.nbytes)
        top = before if member.op.in_place else after
        yield ((top > dead) | (top > before)) * ring.nbytes, (before > dead) * ring.nbytes
    if nbytes := member.sum_bytes:
        at, _ = trace.fires(member.key)
        running = (moments >= at[0]) & (moments <= at[-1])
        yield running * nbytes, (running & (moments > at[0])) * nbytes
    if nbytes := member.scratch_bytes + _converted(member, frame, tiled=False):
        taken = np.zeros(len(moments), dtype=np.int64)
        taken[trace.order(member.key)] = nbytes
        yield taken, 0
    yield counter_bytes, counter_bytes


def _in_use(trace: Trace, writer: Member, ring: Ring, moments: Ints) -> tuple[Ints, Ints]:
    """Whether a ring holds anything at each moment; and if what an in-place writer writes there does not count yet."""
    if ring.life is None:
        dead = dead_bytes(trace, writer.op.output, writer.op.writes.nbytes)
        before, top = written_bytes(trace, writer)
        in_use = (top > dead) | (top > before)  # what nobody reads is written, too
        still = before > dead if writer.op.in_place else in_use
        return in_use.astype(np.int64), still.astype(np.int64)
    life, length = ring.life, len(trace) + 2
    counts = [
        np.cumsum(np.bincount(first, minlength=length) - np.bincount(life.read + 1, minlength=length))
        for first in (life.written, life.written + 1 if writer.op.in_place else life.written)
    ]
    top, before = ((c[moments] > 0).astype(np.int64) for c in counts)
    return top, before


def _below_pixels(writer: Member, ring: Ring, moments: Ints) -> Ints:
    """Bytes of a ring in lanes below the pixel that an in-place writer writes at each moment.

    They lie below what it reads then: where the ring is empty before, nothing else keeps the pixel from the middle of
    the one that is read.
    """
    result = np.zeros(len(moments), dtype=np.int64)
    if ring.life and writer.op.in_place:
        result[moments.searchsorted(ring.life.written)] = slots(writer, ring.life, ring.lanes) * writer.pixel_bytes
    return result


def _growth(trace: Trace, writer: Member) -> tuple[Ints, Ints]:
    """Bytes of a whole output that are written when the firing at each moment is done, and when it reads the last."""
    before, top = written_bytes(trace, writer)
    if writer.op.in_place:
        return top, before
    return top, top - (top > before) if ends_late(writer) else top


def ends_late(writer: Member) -> bool:
    """Whether a firing writes the last byte of a whole output when it has read everything."""
    return writer.op.ends_late and not writer.iterative and writer.walk.groups == 1


def _ends_on(writer: Member, rings: Collection[TensorId], frame: InputSource | None) -> frozenset[TensorId]:
    """See Content.ends_on. `rings`: what is kept in rings."""
    if not ends_late(writer):
        return frozenset()
    return frozenset(writer.op.inputs).difference(rings, (frame.tensor,) if frame else ())


def _replaces(writer: Member, rings: Collection[TensorId], frame: InputSource | None) -> frozenset[TensorId]:
    """Tensors that a writer may overwrite in place. `rings`: what is kept in rings. Never the frame, which moves.

    In a lane, the pixels of a unit may be turned round and far apart: then the first to be written is not below the
    last to be read.
    """
    if not writer.op.in_place:
        return frozenset()
    inputs = writer.op.replaceable.difference((frame.tensor,) if frame else ())
    if writer.walk.by_rows or writer.walk.tile == 1:
        return inputs
    return frozenset() if writer.op.output in rings else inputs.difference(rings)


def most_alive(buffers: Iterable[Content]) -> int:
    """Bytes alive at the worst firing: no layout can be lower."""
    return int(sum((np.maximum(c.before - c.bottom, 0) for c in buffers), np.zeros(1, dtype=np.int64)).max(initial=0))


def separations(buffers: Sequence[Content]) -> dict[tuple[int, int], int]:
    """(lower, upper) -> bytes by which buffer `upper` must start above `lower`, for all pairs that are alive together.

    A pair is listed in both directions or, if its buffers may share all their bytes, not at all.
    """
    result: dict[tuple[int, int], int] = {}
    for u, a in enumerate(buffers):
        for v, b in enumerate(buffers[:u]):
            if np.any((a.top > a.bottom) & (b.top > b.bottom)):
                result[u, v], result[v, u] = _separation(a, b), _separation(b, a)
    return result


def _separation(lower: Content, upper: Content) -> int:
    """Bytes from the start of `lower` to the start of `upper`, at least.

    An in-place writer reads each byte before it writes the one that replaces it, front to back: at or below the
    replaced row is safe. Of any other that ends late, only the last byte of a firing may lie on what it reads.
    """
    is_tensor = upper.role in (Role.TENSOR, Role.RING)
    replacing = is_tensor and upper.key in lower.replaces
    top = lower.before if replacing or (is_tensor and upper.key in lower.ends_on) else lower.top
    meet = (top > lower.bottom) & (upper.top > upper.bottom)
    distance = int((top - upper.bottom)[meet].max(initial=-lower.nbytes - upper.nbytes))
    return max(distance, 0) if replacing else distance
