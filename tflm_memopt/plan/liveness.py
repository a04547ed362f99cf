"""Which bytes of which buffer hold something at every firing of a block, and how close two buffers may therefore come.

A buffer's content at a firing is one range of its bytes: a whole input loses rows at its bottom, a whole output gains
rows at its top, a ring or an accumulator is either empty or counts in full. From these ranges follow the bytes that are
alive at once (the lower bound) and the separation of any two buffers. For one input and one output that separation is
vMCU's min(b_In - b_Out) (section 4), here for any block and any pair. A firing writes before it reads, unless its
operator works in place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.firing import Member, Trace, dead_bytes, written_bytes
from tflm_memopt.plan.lanes import Lives
from tflm_memopt.plan.plan import Lane, Role
from tflm_memopt.plan.walk import Ints


@dataclass(frozen=True, slots=True)
class Content:
    """What a buffer holds at each firing of a block and at its end: bytes [bottom, top), none where top <= bottom."""

    role: Role
    key: int
    nbytes: int
    bottom: Ints
    top: Ints
    before: Ints
    """`top` before the writes of the firing itself, if it works in place; the same as `top` otherwise."""
    replaces: frozenset[TensorId] = frozenset()
    """Tensors whose rows the buffer's writer may overwrite in place."""
    depth: int = 0
    lanes: tuple[Lane, ...] = ()
    """RING: see Ring."""


@dataclass(frozen=True, slots=True)
class Border:
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


def contents(
    trace: Trace, border: Border, rings: Mapping[TensorId, Ring], sizes: Mapping[TensorId, int], counter_bytes: int
) -> tuple[Content, ...]:
    """All buffers of a block, tensors that merely live through it excepted. `rings`: of the inner tensors."""
    moments = np.append(trace.moments, len(trace.op))
    zero = np.zeros(len(moments), dtype=np.int64)
    writers = {m.op.output: m for m in trace.members}
    result = []
    for t in border.dying:
        full = zero + sizes[t]
        result.append(Content(Role.TENSOR, t, sizes[t], dead_bytes(trace, t, sizes[t], moments), full, full))
    for t in border.born:
        top, before = _growth(trace, writers[t], moments)
        replaces = _replaces(writers[t], rings.keys())
        result.append(Content(Role.TENSOR, t, sizes[t], zero, top, before, replaces))
    for t, ring in rings.items():
        top, before = (used * ring.nbytes for used in _in_use(trace, writers[t], ring, moments))
        replaces = _replaces(writers[t], rings.keys())
        result.append(Content(Role.RING, t, ring.nbytes, zero, top, before, replaces, ring.depth, ring.lanes))
    for m in trace.members:
        if nbytes := m.sum_bytes:
            at, _ = trace.fires(m.key)
            full = ((moments >= at[0]) & (moments <= at[-1])) * nbytes
            result.append(Content(Role.ACCUMULATOR, m.op.output, nbytes, zero, full, full))
    full = zero + counter_bytes
    result.append(Content(Role.COUNTERS, -1, counter_bytes, zero, full, full))
    return tuple(result)


def new_contents(
    trace: Trace, member: Member, ring: Ring | None, counter_bytes: int
) -> Iterator[tuple[Ints | int, Ints | int]]:
    """Bytes that an operator of a row block adds at each firing and before it: output (None: whole), sums, counter."""
    moments = np.append(trace.moments, len(trace.op))
    before = written_bytes(trace, member, moments - 1)
    if ring is None:
        yield before if member.op.in_place else written_bytes(trace, member, moments), before
    else:
        dead = dead_bytes(trace, member.op.output, member.op.writes.nbytes, moments)
        top = before if member.op.in_place else written_bytes(trace, member, moments)
        yield (top > dead) * ring.nbytes, (before > dead) * ring.nbytes
    if nbytes := member.sum_bytes:
        at, _ = trace.fires(member.key)
        running = (moments >= at[0]) & (moments <= at[-1])
        yield running * nbytes, (running & (moments > at[0])) * nbytes
    yield counter_bytes, counter_bytes


def _in_use(trace: Trace, writer: Member, ring: Ring, moments: Ints) -> tuple[Ints, Ints]:
    """Whether a ring holds anything at each moment; and if what an in-place writer writes there does not count yet."""
    if ring.life is None:
        dead = dead_bytes(trace, writer.op.output, writer.op.writes.nbytes, moments)
        top, before = _growth(trace, writer, moments)
        return (top > dead).astype(np.int64), (before > dead).astype(np.int64)
    life, length = ring.life, len(trace.op) + 2
    counts = [
        np.cumsum(np.bincount(first, minlength=length) - np.bincount(life.read + 1, minlength=length))
        for first in (life.written, life.written + 1 if writer.op.in_place else life.written)
    ]
    top, before = ((c[moments] > 0).astype(np.int64) for c in counts)
    return top, before


def _growth(trace: Trace, writer: Member, moments: Ints) -> tuple[Ints, Ints]:
    """Bytes written after and before the firing at each moment."""
    top = written_bytes(trace, writer, moments)
    return top, written_bytes(trace, writer, moments - 1) if writer.op.in_place else top


def _replaces(writer: Member, rings: Collection[TensorId]) -> frozenset[TensorId]:
    """Tensors that a writer may overwrite in place. `rings`: what is kept in rings.

    In a lane, the pixels of a unit may be turned round and far apart: then the first to be written is not below the
    last to be read.
    """
    if not writer.op.in_place:
        return frozenset()
    if writer.walk.by_rows or writer.walk.tile == 1:
        return frozenset(writer.op.inputs)
    return frozenset() if writer.op.output in rings else frozenset(writer.op.inputs).difference(rings)


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
    replaced row is safe.
    """
    replacing = upper.key in lower.replaces and upper.role in (Role.TENSOR, Role.RING)
    top = lower.before if replacing else lower.top
    meet = (top > lower.bottom) & (upper.top > upper.bottom)
    distance = int((top - upper.bottom)[meet].max(initial=-lower.nbytes - upper.nbytes))
    return max(distance, 0) if replacing else distance
