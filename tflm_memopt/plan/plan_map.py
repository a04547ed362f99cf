"""Draws the memory map of a plan, which shows the bytes of each buffer over time."""

import itertools
from collections.abc import Mapping

from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.plan.iteration.occupancy import occupancy
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.memory_map import MappedBuffer, MemoryMap, Phase, maker_of, role_of, titled
from tflm_memopt.plan.plan import Buffer, Group, Role
from tflm_memopt.tflm.arena import Arena

UNNAMED: Mapping[Role, str] = {Role.COUNTERS: "iteration counters", Role.SCRATCH: "scratch of the kernels"}


def of_plan(planned: Planned, arena: Arena) -> MemoryMap:
    plan, ops, graph = planned.plan, planned.graph.ops, planned.graph.model
    source = planned.graph.source
    time = occupancy(planned)
    starts = [*itertools.accumulate(time.moments, initial=0)]
    types = {op.index: op.kind for op in graph.ops}
    phases, group = [], 0
    for step, moments in zip(plan.steps, time.moments, strict=True):
        if isinstance(step, Group):
            sources = tuple(sorted(i for stage in step.stages for i in ops[stage.op].sources))
            names = tuple(ops[stage.op].name for stage in step.stages)
            phases.append(Phase(f"group {group}", sources, names, moments, group=True))
            group += 1
        else:
            phases.append(Phase(f"{step.op} {types[step.op]}", (step.op,), (types[step.op],), moments))
    rows = {op.output: op.writes.h for op in ops.values()} | ({source.tensor: source.height} if source else {})
    buffers = tuple(
        MappedBuffer(
            _name(graph, b),
            role_of(graph, b.key) if b.role is Role.TENSOR else b.role.value,
            "" if b.role in UNNAMED else maker_of(graph, b.key),
            b.nbytes,
            offset,
            starts[b.first],
            starts[b.last],
            _kept(b, rows),
            stretches,
        )
        for (b, offset), stretches in zip(plan.placed(), time.stretches, strict=True)
    )
    title = titled("Rewritten", arena)
    return MemoryMap(title, tuple(phases), buffers, time.live, arena.head, arena.tail, plan.lower_bound)


def _name(graph: Graph, buffer: Buffer) -> str:
    return UNNAMED.get(buffer.role) or graph.tensors[buffer.key].name


def _kept(buffer: Buffer, rows: Mapping[TensorId, int]) -> str:
    if buffer.role is Role.ACCUMULATOR:
        return "int32 sums"
    if buffer.role is Role.WEIGHTS:
        return "copy of its maker's weights"
    if buffer.role in UNNAMED:
        return "of the running group"
    if buffer.column_windows:
        return f"pixels of {sum(column_window.rows for column_window in buffer.column_windows)} rows of each stripe"
    return f"{buffer.depth} of {rows[buffer.key]} rows" if buffer.role is Role.ROLLING_BUFFER else "whole"
