"""Describes the content of a custom operator in its options, which Netron shows and TFLM leaves in flash."""

from __future__ import annotations

from collections.abc import Mapping

from flatbuffers import flexbuffers

from tflm_memopt.lower.lowering import OperatorUnit
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Group, Plan, Role

MOST_LINES = 32


def options(plan: Plan, unit: OperatorUnit, ops: Mapping[int, RowOp]) -> bytes:
    """Return a FlexBuffer map with a line for each group. Only the first of many groups are listed, since the text
    takes flash.
    """
    words = {f"group {n}": describe(plan, step, ops) for n, step in enumerate(unit.steps[:MOST_LINES])}
    if len(unit.steps) > MOST_LINES:
        words["more"] = f"{len(unit.steps) - MOST_LINES} groups"
    return bytes(flexbuffers.Dumps(words))


def _maker(op: RowOp | None) -> str:
    return f"op {op.sources[0]}" if op else "the input"


def describe(plan: Plan, step: int, ops: Mapping[int, RowOp]) -> str:
    """Describe one group: its operators by their index in the original model, and the rows that it keeps."""
    group = plan.steps[step]
    if not isinstance(group, Group):
        raise TypeError(f"step {step} is not a group")
    makers = {ops[stage.op].output: ops[stage.op] for stage in group.stages}
    chain = ", ".join(f"{ops[stage.op].sources[0]} {ops[stage.op].name}" for stage in group.stages)
    rolling_buffers = [
        f"{buffer.nbytes} B of {_maker(makers.get(buffer.key))}" + (f" ({buffer.depth} rows)" if buffer.depth else "")
        for buffer in (plan.buffers[i] for i in plan.alive[step])
        if buffer.role is Role.ROLLING_BUFFER and buffer.first == step
    ]
    how = f"in {group.stripes} stripes" if group.stripes else "row by row"
    return f"ops {chain}; {how}" + (f"; keeps {', '.join(rolling_buffers)}" if rolling_buffers else "")
