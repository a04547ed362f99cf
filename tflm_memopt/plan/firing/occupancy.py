"""Live bytes of every buffer of a finished plan over time, for the memory map.

The firings of each group are simulated again from the plan and merged into a few moments; each moment has the widest
range of each buffer and the maximum of the live bytes.
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
"""Limit of the moments of one group, finer than a screen can show."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A period [first, last) of the plan's moments in which bytes [bottom, top) of a buffer are live."""

    first: int
    last: int
    bottom: int
    top: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The live bytes of a plan over time."""

    moments: tuple[int, ...]
    """Number of moments of each step."""
    stretches: tuple[tuple[Stretch, ...], ...]
    """Live ranges of each buffer."""
    live: tuple[int, ...]
    """Maximum of the live bytes in each moment."""


def occupancy(
    plan: Plan, ops: Mapping[int, RowOp], outputs: Collection[TensorId], frame: InputSource | None = None
) -> Occupancy:
    """Return the occupancy of a plan. ops: row operators by key. outputs: model outputs. frame: input outside the
    arena.
    """
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
    """Return the trace of a group of a plan."""
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
    """Return what group `number` writes or reads for the last time at each firing, in the group's row order.

    Tensors that live through the group, and builtin operators, are not listed.
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
    """Return step_contents() as layouts use it: in whole rows or pixels for a reversed group."""
    block, found = plan.steps[number], step_contents(plan, number, ops, outputs, frame)
    if not isinstance(block, Block) or not block.turned:
        return found
    counted = (as_counted(ops[s.op], block) for s in block.stages)
    return in_units(found, unit_bytes(counted, pixels=block.strips > 0))


def _ring(trace: Trace, member: Member, buffer: Buffer) -> Ring:
    return Ring(buffer.nbytes, buffer.depth, buffer.lanes, lives(trace, member) if buffer.lanes else None)


def _key(buffer: Buffer) -> int:
    """Return a buffer's key as in a group's contents."""
    return -1 if buffer.role in (Role.COUNTERS, Role.SCRATCH) else buffer.key


def _groups(count: int) -> list[slice]:
    """Divide `count` firings into at most MOST_MOMENTS parts of similar size."""
    edges = np.linspace(0, count, min(count, MOST_MOMENTS) + 1).astype(int).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def _append(stretches: list[Stretch], new: Stretch) -> None:
    """Append a stretch, merged with the previous one if they are equal."""
    old = stretches[-1] if stretches else None
    if old and (old.last, old.bottom, old.top) == (new.first, new.bottom, new.top):
        stretches[-1] = Stretch(old.first, new.last, new.bottom, new.top)
    else:
        stretches.append(new)
