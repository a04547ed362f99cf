"""From the blocks of a plan to a program: offsets in the workspace, views of tensors, operands in order of demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.lower.program import Program, ProgramBlock, ProgramOp, ProgramTensor
from tflm_memopt.model.graph import TensorId
from tflm_memopt.model.rowop import UNIT, Kind, RowOp, Rows
from tflm_memopt.plan.plan import Block, Plan, Role, Stage
from tflm_memopt.plan.planner import TFLM_ALIGN

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Unit:
    """What becomes one custom operator: blocks of the plan (by step) and the tensors that TFLM hands over."""

    steps: tuple[int, ...]
    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]


@dataclass(frozen=True, slots=True)
class Workspace:
    """The part of the arena that a unit uses beside its inputs and outputs."""

    offset: int
    nbytes: int


def workspace(plan: Plan, unit: Unit, ops: Mapping[int, RowOp]) -> Workspace:
    """From the lowest to the highest byte of the unit's own buffers; others may lie between or overlap as planned."""
    own = {ops[stage.op].output for n in unit.steps for stage in _block(plan, n).stages} - {*unit.inputs, *unit.outputs}
    spans = [
        (offset, offset + buffer.nbytes)
        for buffer, offset in plan.placed()
        if (buffer.key in own if buffer.role is Role.TENSOR else buffer.first in unit.steps)
    ]
    start = min(first for first, _ in spans) // TFLM_ALIGN * TFLM_ALIGN
    return Workspace(start, max(end for _, end in spans) - start)


def _block(plan: Plan, number: int) -> Block:
    step = plan.steps[number]
    if not isinstance(step, Block):
        raise TypeError(f"step {number} is no block")
    return step


def lower(plan: Plan, unit: Unit, ops: Mapping[int, RowOp]) -> Program:
    """The unit as a program; `ops` are the row operators by key."""
    return _Lowering(plan, unit, ops).program()


class _Lowering:
    """Collects the tables of one program."""

    def __init__(self, plan: Plan, unit: Unit, ops: Mapping[int, RowOp]) -> None:
        self.plan, self.unit, self.ops = plan, unit, ops
        self.workspace = workspace(plan, unit, ops)
        self.tensors: dict[ProgramTensor, int] = {}

    def program(self) -> Program:
        table: list[ProgramOp] = []
        blocks: list[ProgramBlock] = []
        firings = 0
        for step in self.unit.steps:
            block = _block(self.plan, step)
            numbers = {stage.op: len(table) + i for i, stage in enumerate(block.stages)}
            blocks.append(ProgramBlock(len(table), len(numbers), self._offset(Role.COUNTERS, step)))
            table += [self._op(stage, numbers, stage.op in block.sinks) for stage in block.stages]
            firings += block.firings
        return Program(
            n_inputs=len(self.unit.inputs),
            n_outputs=len(self.unit.outputs),
            workspace=self.workspace.nbytes,
            firings=firings,
            tensors=tuple(self.tensors),
            ops=tuple(table),
            blocks=tuple(blocks),
        )

    def _op(self, stage: Stage, numbers: Mapping[int, int], sink: bool) -> ProgramOp:
        makers = {self.ops[key].output: number for key, number in numbers.items()}
        op = self.ops[stage.op]
        if op.inputs[0] not in makers and _reads_flat(op, stage):
            op = _flat(op)
        return ProgramOp(
            kind=op.kind,
            inputs=tuple(self._tensor(op.inputs[k], op.reads[k]) for k in stage.operands),
            producers=tuple(makers.get(op.inputs[k]) for k in stage.operands),
            output=self._tensor(op.output, op.writes),
            input_zero_points=tuple(op.input_zero_points[k] for k in stage.operands),
            output_zero_point=op.output_zero_point,
            window=op.window,
            activation=op.activation,
            sink=sink,
            iterative=stage.iterative,
            param=op.param,
            weights=op.weights,
            bias=op.bias,
            multipliers=_in_demand_order(op, op.multipliers, stage.operands),
            shifts=_in_demand_order(op, op.shifts, stage.operands),
            accumulator=self._offset(Role.ACCUMULATOR, op.output) if stage.iterative else 0,
        )

    def _tensor(self, tensor: TensorId, rows: Rows) -> int:
        handed = (*self.unit.inputs, *self.unit.outputs)
        ring = self.plan.find(Role.RING, tensor)
        if tensor in handed:
            record = ProgramTensor(0, rows.h, rows.w, rows.c, rows.h, base=1 + handed.index(tensor))
        elif ring:
            record = ProgramTensor(self._offset(Role.RING, tensor), rows.h, rows.w, rows.c, ring[0].depth)
        else:
            record = ProgramTensor(self._offset(Role.TENSOR, tensor), rows.h, rows.w, rows.c, rows.h)
        return self.tensors.setdefault(record, len(self.tensors))

    def _offset(self, role: Role, key: int) -> int:
        found = self.plan.find(role, key)
        if found is None:
            raise KeyError(f"the plan has no {role.value} for {key}")
        return found[1] - self.workspace.offset


def _reads_flat(op: RowOp, stage: Stage) -> bool:
    """A dense layer on a tensor that is there before its block reads it as one pixel: one long dot product."""
    return op.kind is Kind.CONV and op.reducible and not stage.iterative and op.reads[0].h * op.reads[0].w > 1


def _flat(op: RowOp) -> RowOp:
    rows = Rows(1, 1, op.reads[0].nbytes)
    weights = None if op.weights is None else op.weights.reshape(op.weights.shape[0], 1, 1, -1)
    return replace(op, reads=(rows,), window=UNIT, weights=weights)


def _in_demand_order(op: RowOp, values: NDArray[Scalar] | None, operands: Sequence[int]) -> NDArray[Scalar] | None:
    """ADD has one scale per operand, then the output's."""
    if op.kind is not Kind.ADD or values is None:
        return values
    return values[[*operands, len(operands)]]
