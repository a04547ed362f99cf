"""Which bytes of which buffer hold something at every firing of a block, and how close two buffers may therefore come.

A buffer's content at a firing is one range of its bytes: a whole input loses rows at its bottom, a whole output gains
rows at its top, a ring or an accumulator is either empty or counts in full. From these ranges follow the bytes that are
alive at once (the lower bound) and the separation of any two buffers. For one input and one output that separation is
vMCU's min(b_In - b_Out) (section 4), here for any block and any pair. A firing writes before it reads, unless its
operator works in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.firing import Ints, Member, Trace, dead_bytes, written_bytes
from tflm_memopt.plan.plan import Role


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
    """RING: rows."""


@dataclass(frozen=True, slots=True)
class Border:
    """Whole tensors at the border of a block."""

    dying: tuple[TensorId, ...]
    """Read here for the last time."""
    born: tuple[TensorId, ...]
    """Written here, read later."""
    through: tuple[TensorId, ...]
    """Alive before and after."""


def contents(
    trace: Trace, border: Border, rings: Mapping[TensorId, int], sizes: Mapping[TensorId, int], counter_bytes: int
) -> tuple[Content, ...]:
    """All buffers of a block, tensors that merely live through it excepted. `rings`: depth per inner tensor."""
    moments = np.append(trace.moments, len(trace.op))
    zero = np.zeros(len(moments), dtype=np.int64)
    writers = {m.op.output: m for m in trace.members}
    result = []
    for t in border.dying:
        full = zero + sizes[t]
        result.append(Content(Role.TENSOR, t, sizes[t], dead_bytes(trace, t, sizes[t], moments), full, full))
    for t in border.born:
        top, before, replaces = _growth(trace, writers[t], moments)
        result.append(Content(Role.TENSOR, t, sizes[t], zero, top, before, replaces))
    for t, depth in rings.items():
        nbytes = depth * writers[t].op.writes.row_bytes
        dead = dead_bytes(trace, t, sizes[t], moments)
        top, before, replaces = _growth(trace, writers[t], moments)
        result.append(
            Content(Role.RING, t, nbytes, zero, (top > dead) * nbytes, (before > dead) * nbytes, replaces, depth)
        )
    for m in trace.members:
        if m.iterative:
            at, _ = trace.fires(m.key)
            full = ((moments >= at[0]) & (moments <= at[-1])) * m.op.accumulator_bytes
            result.append(Content(Role.ACCUMULATOR, m.op.output, m.op.accumulator_bytes, zero, full, full))
    full = zero + counter_bytes
    result.append(Content(Role.COUNTERS, -1, counter_bytes, zero, full, full))
    return tuple(result)


def new_contents(
    trace: Trace, member: Member, depth: int, counter_bytes: int
) -> Iterator[tuple[Ints | int, Ints | int]]:
    """Bytes that an operator adds at each firing and just before it: output (`depth` rows, 0: all), sums, counter."""
    moments = np.append(trace.moments, len(trace.op))
    before = written_bytes(trace, member, moments - 1)
    top = before if member.op.in_place else written_bytes(trace, member, moments)
    if depth:
        dead = dead_bytes(trace, member.op.output, member.op.writes.nbytes, moments)
        nbytes = depth * member.op.writes.row_bytes
        yield (top > dead) * nbytes, (before > dead) * nbytes
    else:
        yield top, before
    if member.iterative:
        at, _ = trace.fires(member.key)
        running = (moments >= at[0]) & (moments <= at[-1])
        yield running * member.op.accumulator_bytes, (running & (moments > at[0])) * member.op.accumulator_bytes
    yield counter_bytes, counter_bytes


def _growth(trace: Trace, writer: Member, moments: Ints) -> tuple[Ints, Ints, frozenset[TensorId]]:
    """Bytes written after and before the firing at each moment, and what the writer may overwrite."""
    top = written_bytes(trace, writer, moments)
    if not writer.op.in_place:
        return top, top, frozenset()
    return top, written_bytes(trace, writer, moments - 1), frozenset(writer.op.inputs)


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
