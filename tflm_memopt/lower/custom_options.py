"""Describes the content of a custom operator in its options, which Netron shows and TFLM leaves in flash."""

from __future__ import annotations

from flatbuffers import flexbuffers

from tflm_memopt.lower.lowering import CustomOp
from tflm_memopt.plan.iteration.planned import PlannedGroup
from tflm_memopt.plan.plan import Role

MOST_LINES = 32


def options(custom: CustomOp) -> bytes:
    """Return a FlexBuffer map with a line of text for each group. The text is limited, since it takes flash."""
    words = {f"group {n}": describe(group) for n, group in enumerate(custom.groups[:MOST_LINES])}
    if len(custom.groups) > MOST_LINES:
        words["more"] = f"{len(custom.groups) - MOST_LINES} groups"
    return bytes(flexbuffers.Dumps(words))


def describe(group: PlannedGroup) -> str:
    """Describe one group: its operators by their index in the original model, and the rows that it keeps."""
    plan, stripes = group.plan, group.step.stripes
    makers = {op.output: f"op {op.sources[0]}" for op in group.ops}
    chain = ", ".join(f"{op.sources[0]} {op.name}" for op in group.ops)
    rolling_buffers = [
        f"{buffer.nbytes} B of {makers.get(buffer.key, 'the input')}"
        + (f" ({buffer.depth} rows)" if buffer.depth else "")
        for buffer in (plan.buffers[i] for i in plan.alive[group.number])
        if buffer.role is Role.ROLLING_BUFFER and buffer.first == group.number
    ]
    how = f"in {stripes} stripes" if stripes else "row by row"
    return f"ops {chain}; {how}" + (f"; keeps {', '.join(rolling_buffers)}" if rolling_buffers else "")
