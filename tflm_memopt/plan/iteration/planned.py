"""Combines a checked plan with its operators, and simulates the iterations of each group once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.iteration.liveness import GroupBorder, LiveRange, live_ranges
from tflm_memopt.plan.iteration.reversal import as_counted, in_units, unit_bytes
from tflm_memopt.plan.iteration.trace import Member, Trace, traced
from tflm_memopt.plan.loops import Loops, loops_of
from tflm_memopt.plan.plan import Group, Plan, Role
from tflm_memopt.rowgraph.graph import InputSource, RowGraph


def trace_of(group: Group, ops: Mapping[int, RowOp], source: InputSource | None = None) -> Trace:
    members = [Member(s, as_counted(ops[s.op], group), s.stripes(group.stripes)) for s in group.stages]
    return traced(members, group.sinks, source, in_turn=group.in_turn)


def looped(trace: Trace) -> Loops:
    number = {member.key: i for i, member in enumerate(trace.members)}
    stages = np.array([number[key] for key in trace.executed.tolist()], dtype=np.int64)
    skips = np.zeros(len(stages), dtype=np.int64)
    for member in trace.members:
        if member.nest.recomputes:
            at, iteration = trace.iterations_of(member.key)
            expected = np.append(0, iteration[:-1] + 1)
            stripe = member.iterations.stripe
            skips[at] = stripe[iteration] - stripe[expected]
    return loops_of(stages, skips)


@dataclass(frozen=True)
class PlannedGroup:
    plan: Plan
    number: int
    step: Group
    graph: RowGraph

    @property
    def ops(self) -> Sequence[RowOp]:
        return [self.graph.ops[stage.op] for stage in self.step.stages]

    @cached_property
    def trace(self) -> Trace:
        """All iterations of the group, with rows numbered in the order in which the group computes them."""
        return trace_of(self.step, self.graph.ops, self.graph.source)

    @cached_property
    def live_ranges(self) -> Mapping[int, LiveRange]:
        trace, plan, number, source = self.trace, self.plan, self.number, self.graph.source
        alive = [plan.buffers[i] for i in plan.alive[number]]
        whole = {b.key: b for b in alive if b.role is Role.TENSOR}
        born = {m.op.output for m in trace.members} & whole.keys()
        read = {t for m in trace.members for t in m.op.inputs if not source or t != source.tensor} & whole.keys()
        dying = {t for t in read - born if whole[t].last == number + 1 and t not in self.graph.model.outputs}
        inner = {b.key: b for b in alive if b.role is Role.ROLLING_BUFFER and b.first == number}
        found = live_ranges(
            trace,
            {t: inner[t] for m in trace.members if (t := m.op.output) in inner},
            GroupBorder(tuple(dying), tuple(born), ()),
            {t: b.nbytes for t, b in whole.items()},
        )
        numbers = {(b.role, b.key): i for i, b in zip(plan.alive[number], alive, strict=True)}
        own = {Role.COUNTERS: number, Role.SCRATCH: number}
        return {numbers[r.buffer.role, own.get(r.buffer.role, r.buffer.key)]: r for r in found}

    @cached_property
    def placed(self) -> Mapping[int, LiveRange]:
        """Live ranges for the layout. A reversed group frees bytes only in whole rows or pixels."""
        if not self.step.is_reversed:
            return self.live_ranges
        sizes = unit_bytes((m.op for m in self.trace.members), pixels=self.step.stripes > 0)
        return dict(zip(self.live_ranges, in_units(tuple(self.live_ranges.values()), sizes), strict=True))


@dataclass(frozen=True)
class Planned:
    """A checked plan of a model, with the operators that it runs."""

    graph: RowGraph
    plan: Plan

    @cached_property
    def groups(self) -> Mapping[int, PlannedGroup]:
        steps = enumerate(self.plan.steps)
        return {n: PlannedGroup(self.plan, n, step, self.graph) for n, step in steps if isinstance(step, Group)}
