"""What a model holds while it does not run: outputs that are retained, what waits for rows of a streamed input."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.firing.arrivals import arrivals
from tflm_memopt.plan.firing.liveness import Content
from tflm_memopt.plan.firing.occupancy import placed_contents, trace_of
from tflm_memopt.plan.plan import Block, Plan, Role
from tflm_memopt.plan.planned import Planned
from tflm_memopt.plan.walk import Ints

Range = tuple[int, int]
"""Bytes [bottom, top) of a buffer."""


def held(planned: Planned, retained: Collection[TensorId] = ()) -> Mapping[int, Range]:
    """By number of the buffer: bytes that have to stay while other models run. retained: outputs."""
    plan, parts = planned.plan, planned.graph.parts
    stored = {parts[t].storage if t in parts else t for t in retained}
    found = {i: (0, b.nbytes) for i, b in enumerate(plan.buffers) if b.role is Role.TENSOR and b.key in stored}
    frame = planned.graph.frame
    if frame is None or not frame.pushed:
        return found
    for number, step in enumerate(plan.steps):
        if not isinstance(step, Block):
            continue
        trace = trace_of(step, planned.graph.ops)
        come = arrivals(trace, frame)
        if come is None:
            continue
        inside = placed_contents(plan, number, planned.graph.ops, planned.graph.model.outputs, frame)
        waits = np.searchsorted(trace.end, come.pushed)
        if not come.all_rows:
            waits = np.append(waits, len(trace.end) - 1)
        found = joined(found, at_waits(plan, number, inside, waits, frame.tensor))
    return found


def at_waits(
    plan: Plan, number: int, inside: Collection[Content], waits: Ints, frame: TensorId | None = None
) -> Mapping[int, Range]:
    """What is alive in step `number` when it stops before any of these firings, by number of the buffer. inside: what
    its firings hold. frame: the rows that were pushed last, whose place is free while more are waited for.
    """
    found: dict[int, Range] = {}
    for i, (bottom, top) in at_each_wait(plan, number, inside, waits, frame).items():
        if (some := top > bottom).any():
            found[i] = int(bottom[some].min()), int(top[some].max())
    return found


def at_each_wait(
    plan: Plan, number: int, inside: Collection[Content], waits: Ints, frame: TensorId | None = None
) -> Mapping[int, tuple[Ints, Ints]]:
    """The same at each of these firings: bottoms and tops of a buffer, none where it holds nothing."""
    contents = {(c.role, c.key): c for c in inside}
    turned = isinstance(step := plan.steps[number], Block) and step.turned
    found: dict[int, tuple[Ints, Ints]] = {}
    for i, buffer in enumerate(plan.buffers):
        if not buffer.first <= number < buffer.last or buffer.role is Role.SCRATCH:
            continue
        if buffer.role is Role.TENSOR and buffer.key == frame:
            continue
        key = -1 if buffer.role is Role.COUNTERS else buffer.key
        content = contents.get((buffer.role, key))
        if content is None:
            found[i] = np.zeros_like(waits), np.full_like(waits, buffer.nbytes)
            continue
        # What is kept of the rows that were pushed is copied to their ring when others are waited for.
        copied = buffer.role is Role.RING and buffer.key == frame
        bottom, top = _alive(content, waits if copied else np.maximum(waits - 1, 0), waits)
        from_the_end = turned and buffer.role is Role.TENSOR
        found[i] = (buffer.nbytes - top, buffer.nbytes - bottom) if from_the_end else (bottom, top)
    return found


def _alive(content: Content, before: Ints, waits: Ints) -> tuple[Ints, Ints]:
    """Bytes that were written up to these firings, and are read in those that wait or later; of a ring, all or none."""
    bottom, top = content.bottom[waits], content.top[before]
    if content.role is not Role.TENSOR:  # in use on both sides
        some = (content.top[before] > content.bottom[before]) & (content.top[waits] > content.bottom[waits])
        return np.zeros_like(waits), some * content.nbytes
    return np.maximum(bottom, 0), top


def joined(one: Mapping[int, Range], other: Mapping[int, Range]) -> dict[int, Range]:
    """Both, of the same buffer from the lowest to the highest byte."""
    both = dict(one)
    for i, (bottom, top) in other.items():
        low, high = both.get(i, (bottom, top))
        both[i] = (min(low, bottom), max(high, top))
    return both
