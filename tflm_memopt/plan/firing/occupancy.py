"""Which bytes of every buffer of a finished plan hold something, from moment to moment: what a memory map shows.

The firings of each block are made again from the plan alone, and grouped to a few moments: of a group, the widest range
of each buffer and the most bytes that are alive at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.firing.lanes import lives
from tflm_memopt.plan.firing.liveness import BlockBorder, Content, Ring, contents
from tflm_memopt.plan.firing.trace import Member, Trace, traced
from tflm_memopt.plan.firing.turned import as_counted, in_units, unit_bytes
from tflm_memopt.plan.plan import Block, Buffer, Plan, Role
from tflm_memopt.plan.walk import Ints
from tflm_memopt.rowgraph.graph import InputSource

MOST_MOMENTS = 64
"""Moments that one block has at most: finer than a screen shows."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bytes [bottom, top) of a buffer hold something in the moments [first, last), counted over the whole plan."""

    first: int
    last: int
    bottom: int
    top: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """A plan, moment by moment."""

    moments: tuple[int, ...]
    """How many each step has."""
    stretches: tuple[tuple[Stretch, ...], ...]
    """What each buffer holds, moment by moment."""
    live: tuple[int, ...]
    """At each moment: the most bytes that are alive at once."""


def occupancy(
    plan: Plan, ops: Mapping[int, RowOp], outputs: Collection[TensorId], frame: InputSource | None = None
) -> Occupancy:
    """`ops`: row operators by key. `outputs`: tensors that the model gives back. `frame`: an input beside it."""
    moments: list[int] = []
    live: list[int] = []
    stretches: list[list[Stretch]] = [[] for _ in plan.buffers]
    for number, step in enumerate(plan.steps):
        alive = plan.alive[number]
        found = step_contents(plan, number, ops, outputs, frame) if isinstance(step, Block) else ()
        turned = isinstance(step, Block) and step.turned
        inside = {(c.role, c.key): c.from_the_end() if turned and c.role is Role.TENSOR else c for c in found}
        groups = _groups(max((len(c.top) for c in inside.values()), default=1))
        total = np.zeros(len(groups), dtype=np.int64)
        at_once: Ints | int = 0
        for i in alive:
            content = inside.get((plan.buffers[i].role, _key(plan.buffers[i])))
            if content is None:
                total += plan.buffers[i].nbytes
                _append(stretches[i], Stretch(len(live), len(live) + len(groups), 0, plan.buffers[i].nbytes))
                continue
            at_once = at_once + np.maximum(content.before - content.bottom, 0)
            for k, group in enumerate(groups):
                some = content.top[group] > content.bottom[group]
                if some.any():
                    bottom, top = int(content.bottom[group][some].min()), int(content.top[group][some].max())
                    _append(stretches[i], Stretch(len(live) + k, len(live) + k + 1, max(0, bottom), top))
        if not isinstance(at_once, int):
            total += np.array([at_once[group].max() for group in groups])
        moments.append(len(groups))
        live += total.tolist()
    return Occupancy(tuple(moments), tuple(map(tuple, stretches)), tuple(live))


def trace_of(block: Block, ops: Mapping[int, RowOp]) -> Trace:
    """The firings of a block of a plan."""
    members = [
        Member(s.op, as_counted(ops[s.op], block), s.operands, s.iterative, s.walk, block.strips) for s in block.stages
    ]
    return traced(members, block.sinks)


def step_contents(
    plan: Plan,
    number: int,
    ops: Mapping[int, RowOp],
    outputs: Collection[TensorId],
    frame: InputSource | None = None,
) -> tuple[Content, ...]:
    """What block `number` writes or reads for the last time, firing by firing, as it counts rows; tensors that live
    through it are not listed, nor anything of a builtin operator.
    """
    block = plan.steps[number]
    if not isinstance(block, Block):
        return ()
    trace = trace_of(block, ops)
    alive = [plan.buffers[i] for i in plan.alive[number]]
    whole = {b.key: b for b in alive if b.role is Role.TENSOR}
    born = {m.op.output for m in trace.members} & whole.keys()
    read = {t for m in trace.members for t in m.op.inputs if not frame or t != frame.tensor} & whole.keys()
    dying = {t for t in read - born if whole[t].last == number + 1 and t not in outputs}
    rings = {b.key: b for b in alive if b.role is Role.RING and b.first == number}
    return contents(
        trace,
        BlockBorder(tuple(dying), tuple(born), ()),
        {m.op.output: _ring(trace, m, rings[m.op.output]) for m in trace.members if m.op.output in rings},
        {t: b.nbytes for t, b in whole.items()},
        sum(b.nbytes for b in alive if b.role is Role.COUNTERS and b.first == number),
        frame if frame and any(frame.tensor in m.op.inputs for m in trace.members) else None,
    )


def placed_contents(
    plan: Plan,
    number: int,
    ops: Mapping[int, RowOp],
    outputs: Collection[TensorId],
    frame: InputSource | None = None,
) -> tuple[Content, ...]:
    """The same as layouts have it: of a block that is turned, whole rows or pixels."""
    block, found = plan.steps[number], step_contents(plan, number, ops, outputs, frame)
    if not isinstance(block, Block) or not block.turned:
        return found
    counted = (as_counted(ops[s.op], block) for s in block.stages)
    return in_units(found, unit_bytes(counted, pixels=block.strips > 0))


def _ring(trace: Trace, member: Member, buffer: Buffer) -> Ring:
    return Ring(buffer.nbytes, buffer.depth, buffer.lanes, lives(trace, member) if buffer.lanes else None)


def _key(buffer: Buffer) -> int:
    """As the contents of a block have it."""
    return -1 if buffer.role in (Role.COUNTERS, Role.SCRATCH) else buffer.key


def _groups(count: int) -> list[slice]:
    """`count` firings in at most MOST_MOMENTS groups of about the same size."""
    edges = np.linspace(0, count, min(count, MOST_MOMENTS) + 1).astype(int).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def _append(stretches: list[Stretch], new: Stretch) -> None:
    """Joins what does not change."""
    old = stretches[-1] if stretches else None
    if old and (old.last, old.bottom, old.top) == (new.first, new.bottom, new.top):
        stretches[-1] = Stretch(old.first, new.last, new.bottom, new.top)
    else:
        stretches.append(new)
