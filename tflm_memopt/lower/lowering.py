"""Lowers groups of a plan to a program: offsets in the workspace, views of tensors, operands in order of demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from tflm_memopt.format.codes import InputPlace, RowLayout
from tflm_memopt.format.limits import LINK_BASE
from tflm_memopt.lower import operands
from tflm_memopt.lower.pack import pack
from tflm_memopt.lower.program import (
    ColumnWindowRecord,
    NestRecord,
    Program,
    ProgramCores,
    ProgramGroup,
    ProgramOp,
    ProgramRollingBuffer,
    ProgramShare,
    ProgramTensor,
)
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.packing import TARGETS, Packing
from tflm_memopt.ops.rowop import UNIT, RowOp, Rows, StateRollingBuffer
from tflm_memopt.plan.iteration.planned import trace_of
from tflm_memopt.plan.iteration.reversal import as_counted
from tflm_memopt.plan.layout.drafts import TFLM_ALIGN
from tflm_memopt.plan.nest import LoopNest
from tflm_memopt.plan.plan import WINDOW, Buffer, Group, PlacedState, Plan, Role, Stage
from tflm_memopt.rowgraph.graph import InputSource


@dataclass(frozen=True, slots=True)
class OperatorUnit:
    """The groups that become one custom operator (by step), and the tensors of TFLM that it reads and writes."""

    steps: tuple[int, ...]
    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]


@dataclass(frozen=True, slots=True)
class Workspace:
    """The part of the arena that a unit uses besides its inputs and outputs."""

    offset: int
    nbytes: int


def workspace(plan: Plan, unit: OperatorUnit, ops: Mapping[int, RowOp]) -> Workspace:
    """Return the range of the unit's own buffers. Other buffers may lie between them, or overlap, as planned."""
    inside = [ops[stage.op] for n in unit.steps for stage in _group(plan, n).stages]
    own = {op.output for op in inside if not op.leaves} - {*unit.inputs, *unit.outputs}
    placed = [found for t in own if (found := plan.find(Role.TENSOR, t))]
    during = ((n, plan.buffers[i], plan.offsets[i]) for n in unit.steps for i in plan.alive[n])
    placed += [(b, offset) for n, b, offset in during if b.role is not Role.TENSOR and b.first == n]
    start = min(offset for _, offset in placed) // TFLM_ALIGN * TFLM_ALIGN
    return Workspace(start, max(offset + buffer.nbytes for buffer, offset in placed) - start)


def _group(plan: Plan, number: int) -> Group:
    step = plan.steps[number]
    if not isinstance(step, Group):
        raise TypeError(f"step {number} is not a group")
    return step


def lower(plan: Plan, unit: OperatorUnit, ops: Mapping[int, RowOp], frame: InputSource | None = None) -> Program:
    """Lower the unit to a program. ops: the row operators by key. frame: an input outside the arena."""
    read = {t for n in unit.steps for stage in _group(plan, n).stages for t in ops[stage.op].inputs}
    return _Lowering(plan, unit, ops, frame if frame and frame.tensor in read else None).program()


class _Lowering:
    """Builds the tables of one program."""

    def __init__(self, plan: Plan, unit: OperatorUnit, ops: Mapping[int, RowOp], frame: InputSource | None) -> None:
        self.plan, self.unit, self.ops, self.frame = plan, unit, ops, frame
        self.inputs = unit.inputs
        """Inputs of the program. An external input has no TFLM tensor."""
        if frame:
            self.inputs = (frame.tensor, *(t for t in unit.inputs if t != frame.tensor))
        self.workspace = workspace(plan, unit, ops)
        self.tensors: dict[ProgramTensor, int] = {}
        self.step = -1
        """The step whose operators are being lowered."""
        self.layout: int = RowLayout.HWC
        """Layout of whole tensors in this step."""
        kept = {r.tensor for n in unit.steps for s in _group(plan, n).stages for r in ops[s.op].rolling_buffers}
        before = (None, *(s.tensor for s in plan.states))  # a window's counter follows the last of its rolling buffers
        own = [
            state
            for state, rolling_buffer in zip(plan.states, before, strict=False)
            if state.tensor in kept or (state.tensor == WINDOW and rolling_buffer in kept)
        ]
        self.states = {state.tensor: (i, state) for i, state in enumerate(own)}
        """Rolling buffers of the state by tensor: the number of the rolling buffer, and the rolling buffer."""

    def program(self) -> Program:
        table: list[ProgramOp] = []
        groups: list[ProgramGroup] = []
        iterations = 0
        for step in self.unit.steps:
            self.step = step
            group = _group(self.plan, step)
            self.layout = _layout(group)
            made = {self.ops[stage.op].output for stage in group.stages}
            counters = self._offset(Role.COUNTERS, step)
            groups.append(ProgramGroup(len(table), len(group.stages), counters, group.loops, group.stripes))
            nests = {self.ops[stage.op].output: _output_nest(stage, group) for stage in group.stages if group.stripes}
            table += [self._op(stage, group, made, nests) for stage in group.stages]
            iterations += group.iterations
        return Program(
            target=TARGETS[self.plan.target],
            n_inputs=len(self.inputs),
            n_outputs=len(self.unit.outputs),
            workspace=self.workspace.nbytes,
            iterations=iterations,
            tensors=tuple(self.tensors),
            ops=tuple(table),
            groups=tuple(groups),
            state=max((state.offset + state.nbytes for _, state in self.states.values()), default=0),
            rolling_buffers=tuple(_rolling_buffer(state) for _, state in self.states.values()),
            cores=self._cores(table),
            input=self._input(),
        )

    def _cores(self, table: Sequence[ProgramOp]) -> ProgramCores | None:
        """Return how two cores share these operators, or None for one core."""
        shares: list[ProgramShare] = []
        barriers: list[int] = []
        alone: list[int] = []
        iterations = counters = 0
        of_step = {sharing.step: sharing for sharing in self.plan.sharing}
        for step in self.unit.steps:
            if step not in of_step:
                return None
            trace = trace_of(_group(self.plan, step), self.ops)
            behind = {m.key: trace.second_scratch(m) for m in trace.members}
            for share in of_step[step].shares:
                at = table[len(shares)].accumulator + behind[share.op]
                shares.append(ProgramShare(share.how, share.cut, at))
                counters = self.ops[share.op].second
            barriers += [iterations + number for number in of_step[step].barriers]
            alone += [iterations + number for number in of_step[step].alone]
            iterations += _group(self.plan, step).iterations
        return ProgramCores(tuple(shares), tuple(barriers), tuple(alone), counters)

    def _input(self) -> int:
        if self.frame:
            return InputPlace.STREAM if self.frame.pushed else InputPlace.EXTERNAL
        steps = (_group(self.plan, number) for number in self.unit.steps)
        crosses = any(self.ops[stage.op].message for group in steps for stage in group.stages)
        return InputPlace.LINK if crosses else InputPlace.ARENA

    def _op(self, stage: Stage, group: Group, made: Set[TensorId], nests: Mapping[TensorId, LoopNest]) -> ProgramOp:
        """Lower one operator. made: tensors that the group produces."""
        op = self.ops[stage.op]
        flat = op.inputs[0] not in made and not self._is_frame(op.inputs[0]) and _reads_flat(op, stage)
        op = _flat(op) if flat else as_counted(op, group)
        scales = operands.scales_in_order(op, stage.operands)
        packed = pack(replace(op, **scales)) if stage.runs_packed(op) else None
        sums = (stage.iterative and not op.scatters) or stage.nest.sums
        scratch = self.plan.find(Role.SCRATCH, self.step)
        place = self._offset(Role.ACCUMULATOR, op.output) if sums else 0
        if packed and scratch:
            place = scratch[1] - self.workspace.offset
        seen = {op.inputs[0]: stage.nest, **nests} if stage.iterative and group.stripes else nests
        constant = operands.constant(op)
        constants = () if constant is None else (self.tensors.setdefault(constant, len(self.tensors)),)
        return ProgramOp(
            kind=op.kind,
            inputs=(*(self._operand(op, k, seen) for k in stage.operands), *constants),
            output=self._output(op, nests),
            output_zero_point=op.output_zero_point,
            window=op.window,
            activation=op.activation,
            iterative=stage.iterative,
            sums=stage.nest.sums,
            packing=packed.packing if packed else Packing.NONE,
            weights=packed.weights if packed else op.weights,
            scales=packed.scales if packed else None,
            bias=None if packed else op.bias,
            accumulator=place,
            message=op.message,
            **operands.in_order(op, stage.operands, packed=packed is not None),
            **_tiles(op, stage, nests),
        )

    def _output(self, op: RowOp, nests: Mapping[TensorId, LoopNest]) -> int:
        if op.sends:
            return self._on_link(op.reads[0])
        return self._kept(op, op.keeps) if op.keeps else self._tensor(op.output, op.writes, nests)

    def _on_link(self, rows: Rows) -> int:
        """Return the record of a tensor without memory here, whose rows a link sends or receives."""
        record = ProgramTensor(0, rows.h, rows.w, rows.c, rows.h, LINK_BASE)
        return self.tensors.setdefault(record, len(self.tensors))

    def _operand(self, op: RowOp, k: int, nests: Mapping[TensorId, LoopNest]) -> int:
        """Return the record of an input, whose older rows may be in a rolling buffer of the state."""
        if op.receives:
            return self._on_link(op.reads[0])
        if op.inputs[k] in self.states:
            return self._in_state(op.inputs[k], op.reads[k])
        number = self._tensor(op.inputs[k], op.reads[k], nests)
        if op.older is None:
            return number
        rolling_buffer, state = self.states[op.older]
        record = replace([*self.tensors][number], layout=RowLayout.STATE + rolling_buffer, older=state.depth)
        return self.tensors.setdefault(record, len(self.tensors))

    def _in_state(self, tensor: TensorId, rows: Rows) -> int:
        """Return the record of a part of the state. If a run updates all rows, they stay in place."""
        number, state = self.states[tensor]
        layout = RowLayout.STATE + number if state.advance % state.depth else RowLayout.HWC
        base = 1 + len(self.inputs) + len(self.unit.outputs)
        record = ProgramTensor(state.offset, rows.h, rows.w, rows.c, rows.h, base, layout=layout)
        return self.tensors.setdefault(record, len(self.tensors))

    def _kept(self, op: RowOp, rolling_buffer: StateRollingBuffer) -> int:
        """Return the record of the rows that an operator writes to the state."""
        return self._in_state(rolling_buffer.tensor, replace(op.reads[0], h=op.writes.h))

    def _tensor(self, tensor: TensorId, rows: Rows, nests: Mapping[TensorId, LoopNest]) -> int:
        """Return the record of a tensor as an operator sees it.

        walks: the stripes of tensors that its tiled group produces or accumulates.
        """
        if self.frame and self._is_frame(tensor):
            return self._frame(self.frame, rows)
        handed = (*self.inputs, *self.unit.outputs)
        rolling_buffer, nest = self.plan.find(Role.ROLLING_BUFFER, tensor), nests.get(tensor)
        base = 1 + handed.index(tensor) if tensor in handed else 0
        offset = 0 if base else self._offset(Role.ROLLING_BUFFER if rolling_buffer else Role.TENSOR, tensor)
        depth = rolling_buffer[0].depth if rolling_buffer and not rolling_buffer[0].column_windows else rows.h
        layout = RowLayout.HWC if rolling_buffer or rows.h * rows.w == 1 else self.layout
        record = ProgramTensor(offset, rows.h, rows.w, rows.c, depth, base, layout=layout)
        if nest:
            column_windows = _column_windows(rolling_buffer[0], offset, rows, nest) if rolling_buffer else ()
            depth = -nest.origin if column_windows else depth
            record = replace(
                record, depth=depth, column_windows=column_windows, nest=NestRecord(nest.advance, nest.end, nest.rows)
            )
        return self.tensors.setdefault(record, len(self.tensors))

    def _is_frame(self, tensor: TensorId) -> bool:
        return self.frame is not None and tensor == self.frame.tensor

    def _frame(self, frame: InputSource, rows: Rows) -> int:
        """Return the record of the input outside the arena: the rolling buffer of older rows, or the place where pixels
        become int8.
        """
        kept = (
            self.plan.find(Role.ROLLING_BUFFER, frame.tensor)
            if frame.pushed
            else self.plan.find(Role.SCRATCH, self.step)
        )
        depth, offset = (kept[0].depth, kept[1] - self.workspace.offset) if kept else (0, 0)
        record = ProgramTensor(offset, rows.h, rows.w, rows.c, depth, 1, pushed=frame.pushed)
        return self.tensors.setdefault(record, len(self.tensors))

    def _offset(self, role: Role, key: int) -> int:
        found = self.plan.find(role, key)
        if found is None:
            raise KeyError(f"the plan has no {role.value} for {key}")
        return found[1] - self.workspace.offset


def _rolling_buffer(state: PlacedState) -> ProgramRollingBuffer:
    window = int(state.tensor == WINDOW)
    return ProgramRollingBuffer(state.offset, state.row_bytes, state.depth, state.advance, state.fill % 256, window)


def _layout(group: Group) -> int:
    """Return the order in which a group counts the rows of whole tensors."""
    if not group.is_reversed:
        return RowLayout.HWC
    return RowLayout.PIXELS_REVERSED if group.stripes else RowLayout.ROWS_REVERSED


def _output_nest(stage: Stage, group: Group) -> LoopNest:
    """Return the stripes in which an operator's output becomes complete. Sums over stripes become so in the last."""
    return LoopNest(1, 2 - group.stripes, 1) if stage.iterative else stage.nest


def _column_windows(rolling_buffer: Buffer, offset: int, rows: Rows, nest: LoopNest) -> tuple[ColumnWindowRecord, ...]:
    """Return the column windows of a rolling buffer, one after the other."""
    pixel = -(-rows.c // nest.channel_groups) if nest.splits else rows.c
    result = []
    for column_window in rolling_buffer.column_windows:
        result.append(ColumnWindowRecord(offset, column_window.depth, column_window.rows))
        offset += column_window.depth * pixel
    return tuple(result)


def _tiles(op: RowOp, stage: Stage, nests: Mapping[TensorId, LoopNest]) -> Mapping[str, Any]:
    """Return the fields for an operator's units in a tiled group."""
    if not nests:
        return {}
    nest, iterated = stage.nest, op.reads[0] if stage.iterative else op.writes
    tile = {"tile": nest.tile or iterated.w}
    if nest.channel_groups == 1:
        return tile
    split = op.reads[0].c if nest.sums else op.writes.c
    channel_groups = nest.channel_groups - nest.sums
    return {**tile, "channel_groups": channel_groups, "group_channels": -(-split // channel_groups)}


def _reads_flat(op: RowOp, stage: Stage) -> bool:
    """Whether a dense layer reads its input as one pixel, with one long dot product. It does if the input is complete
    before its group.
    """
    return op.is_convolution and op.reducible and not stage.iterative and op.reads[0].h * op.reads[0].w > 1


def _flat(op: RowOp) -> RowOp:
    rows = Rows(1, 1, op.reads[0].nbytes)
    weights = None if op.weights is None else op.weights.reshape(op.weights.shape[0], 1, 1, -1)
    return replace(op, reads=(rows,), window=UNIT, weights=weights)
