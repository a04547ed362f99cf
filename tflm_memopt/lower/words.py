"""Describes the content of a custom operator in its options, which Netron shows and TFLM leaves in flash."""

from __future__ import annotations

from collections.abc import Mapping

from flatbuffers import flexbuffers

from tflm_memopt.lower.lowering import BlockGroup
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Block, Plan, Role

MOST_LINES = 32


def options(plan: Plan, unit: BlockGroup, ops: Mapping[int, RowOp]) -> bytes:
    """Return a FlexBuffer map with a line for each block. Only the first of many blocks are listed, since the text
    takes flash.
    """
    words = {f"block {n}": describe(plan, step, ops) for n, step in enumerate(unit.steps[:MOST_LINES])}
    if len(unit.steps) > MOST_LINES:
        words["more"] = f"{len(unit.steps) - MOST_LINES} blocks"
    return bytes(flexbuffers.Dumps(words))


def _maker(op: RowOp | None) -> str:
    return f"op {op.sources[0]}" if op else "the input"


def describe(plan: Plan, step: int, ops: Mapping[int, RowOp]) -> str:
    """Describe one block: its operators by their index in the original model, and the rows that it keeps."""
    block = plan.steps[step]
    if not isinstance(block, Block):
        raise TypeError(f"step {step} is not a block")
    makers = {ops[stage.op].output: ops[stage.op] for stage in block.stages}
    chain = ", ".join(f"{ops[stage.op].sources[0]} {ops[stage.op].name}" for stage in block.stages)
    rings = [
        f"{buffer.nbytes} B of {_maker(makers.get(buffer.key))}" + (f" ({buffer.depth} rows)" if buffer.depth else "")
        for buffer in (plan.buffers[i] for i in plan.alive[step])
        if buffer.role is Role.RING and buffer.first == step
    ]
    how = f"in {block.strips} strips" if block.strips else "row by row"
    return f"ops {chain}; {how}" + (f"; keeps {', '.join(rings)}" if rings else "")
