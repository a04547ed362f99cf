"""Converts groups of a plan to a program for the C library."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import PlanError
from tflm_memopt.format.codes import InputPlace, RowLayout
from tflm_memopt.format.limits import LINK_BASE, PROGRAM_BASE
from tflm_memopt.lower.pack import pack, plain_weights
from tflm_memopt.lower.program import (
    ColumnWindowRecord,
    CopiedWeights,
    CopyRecord,
    MoveRecord,
    NestRecord,
    Program,
    ProgramCores,
    ProgramGroup,
    ProgramOp,
    ProgramRollingBuffer,
    ProgramSharding,
    ProgramTensor,
)
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.movement import without_waiting
from tflm_memopt.ops.packing import TARGETS, Packing
from tflm_memopt.ops.packings import has_one_scale
from tflm_memopt.ops.rowop import UNIT, Access, Moves, RowOp, Rows
from tflm_memopt.plan.drafts import TFLM_ALIGN
from tflm_memopt.plan.iteration.planned import PlannedGroup
from tflm_memopt.plan.iteration.reversal import as_counted
from tflm_memopt.plan.nest import BY_ROWS, LoopNest
from tflm_memopt.plan.plan import WINDOW, Buffer, Group, Plan, Role, Stage
from tflm_memopt.rowgraph.graph import InputSource


@dataclass(frozen=True, slots=True)
class CustomOp:
    """A custom operator of the rewritten model: its groups, and the TFLM tensors that it reads and writes."""

    name: str
    groups: tuple[PlannedGroup, ...]
    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]

    @property
    def plan(self) -> Plan:
        return self.groups[0].plan

    @property
    def ops(self) -> list[RowOp]:
        return [op for group in self.groups for op in group.ops]


def workspace(custom: CustomOp) -> range:
    plan = custom.plan
    own = {op.output for op in custom.ops if not op.leaves} - {*custom.inputs, *custom.outputs}
    placed = [found for t in own if (found := plan.find(Role.TENSOR, t))]
    during = ((g.number, plan.buffers[i], plan.offsets[i]) for g in custom.groups for i in plan.alive[g.number])
    placed += [(b, offset) for n, b, offset in during if b.role is not Role.TENSOR and b.first == n]
    start = min(offset for _, offset in placed) // TFLM_ALIGN * TFLM_ALIGN
    return range(start, max(offset + buffer.nbytes for buffer, offset in placed))


def lower(custom: CustomOp) -> Program:
    return _Lowering(custom).program()


class _Lowering:
    def __init__(self, custom: CustomOp) -> None:
        graph, read = custom.groups[0].graph, {t for op in custom.ops for t in op.inputs}
        self.plan, self.custom, self.ops = custom.plan, custom, graph.ops
        self.source = graph.source if graph.source and graph.source.tensor in read else None
        self.inputs = custom.inputs
        if self.source:
            self.inputs = (self.source.tensor, *(t for t in custom.inputs if t != self.source.tensor))
        self.workspace = workspace(custom)
        self.slow = {slow.tensor: slow for slow in self.plan.slow}
        self.tensors: dict[ProgramTensor, int] = {}
        self.step = -1
        self.layout: int = RowLayout.HWC
        kept = {rolling_buffer.tensor for op in custom.ops for rolling_buffer in op.rolling_buffers}
        states = self.plan.states  # If the input is sliding, the last state counts the inferences.
        own = [state for state in states if (states[-2] if state.tensor == WINDOW else state).tensor in kept]
        self.states = {state.tensor: (i, state) for i, state in enumerate(own)}

    def program(self) -> Program:
        table: list[ProgramOp] = []
        groups: list[ProgramGroup] = []
        iterations = 0
        for planned in self.custom.groups:
            self.step, group = planned.number, planned.step
            self.layout = _layout(group)
            made = {op.output for op in planned.ops}
            counters = self._offset(Role.COUNTERS, self.step)
            last = LoopNest(1, 2 - group.stripes, 1)  # A stage with int32 sums completes its output in the last stripe.
            nests = {self.ops[s.op].output: last if s.iterative else s.nest for s in group.stages if group.stripes}
            ops = [self._op(stage, group, made, nests) for stage in group.stages]
            whole = len(ops) == 1 and not group.stripes and self._runs_whole(ops[0], group.iterations)
            groups.append(ProgramGroup(len(table), len(ops), counters, group.loops, group.stripes, int(whole)))
            table += ops
            iterations += group.iterations
        place = InputPlace.LINK if any(op.message for op in self.custom.ops) else InputPlace.ARENA
        if self.source:
            place = InputPlace.STREAM if self.source.pushed else InputPlace.EXTERNAL
        return Program(
            target=TARGETS[self.plan.target],
            n_inputs=len(self.inputs),
            n_outputs=len(self.custom.outputs),
            workspace=len(self.workspace),
            iterations=iterations,
            tensors=tuple(self.tensors),
            ops=tuple(table),
            groups=tuple(groups),
            state=max((state.offset + state.nbytes for _, state in self.states.values()), default=0),
            rolling_buffers=tuple(
                ProgramRollingBuffer(s.offset, s.row_bytes, s.depth, s.advance, s.fill % 256, int(s.tensor == WINDOW))
                for _, s in self.states.values()
            ),
            cores=self._cores(table),
            input=place,
            slow=self.plan.slow_bytes,
        )

    def _runs_whole(self, op: ProgramOp, iterations: int) -> bool:
        """Return whether the C library can compute all iterations of a group's only operator in one call."""
        each = op.packing is not Packing.NONE or op.iterative or op.kind in (Kind.GATHER_ND, Kind.SEND, Kind.RECEIVE)
        return not each and iterations == tuple(self.tensors)[op.output].height

    def _cores(self, table: Sequence[ProgramOp]) -> ProgramCores | None:
        shardings: list[ProgramSharding] = []
        barriers: list[int] = []
        serial: list[int] = []
        iterations = counters = 0
        of_step = {sharding.step: sharding for sharding in self.plan.shardings}
        for group in self.custom.groups:
            if group.number not in of_step:
                return None
            of_group, trace = of_step[group.number], group.trace
            behind = {m.key: trace.core_1_scratch(m) for m in trace.members}
            for sharding in of_group.ops:
                at = table[len(shardings)].accumulator + behind[sharding.op]
                shardings.append(ProgramSharding(sharding.kind, sharding.cut, at))
                counters = self.ops[sharding.op].core_1_counters
            barriers += [iterations + number for number in of_group.barriers]
            serial += [iterations + number for number in of_group.serial]
            iterations += group.step.iterations
        return ProgramCores(tuple(shardings), tuple(barriers), tuple(serial), counters)

    def _op(self, stage: Stage, group: Group, made: Set[TensorId], nests: Mapping[TensorId, LoopNest]) -> ProgramOp:
        op = without_waiting(self.ops[stage.op])
        in_place = stage.reads_in_place(op)
        outside = self.source.tensor if self.source else None
        alone = op.inputs[0] not in (*made, outside) and not stage.iterative
        if alone and op.is_convolution and op.reducible and op.reads[0].h * op.reads[0].w > 1:
            weights = None if op.weights is None else op.weights.reshape(op.weights.shape[0], 1, 1, -1)
            op = replace(op, reads=(Rows(1, 1, op.reads[0].nbytes),), window=UNIT, weights=weights)
        else:
            op = as_counted(op, group)
        if stage.at_once > 1:
            op = replace(op, param=stage.at_once)
        elif stage.pixels and stage.nest.by_rows:
            op = replace(op, param=op.room(stage.pixels))
        if in_place:
            op = replace(op, packing=Packing.DSP_DENSE, param=int(has_one_scale(op)))
        # An operator that adds up its input has loops over input rows, even if the input is a whole tensor.
        counts = stage.iterative and group.stripes and nests.get(op.inputs[0], BY_ROWS) == BY_ROWS
        seen = {**nests, op.inputs[0]: stage.nest} if counts else nests
        constant = constant_operand(op)
        fixed = 0 if constant is None else self._number(constant)
        inputs = [self._operand(op, k, seen) for k in range(len(op.inputs))]
        output = self._output(op, nests)
        packed = pack(op) if stage.runs_packed(op) else None
        weights = packed.weights if packed else plain_weights(op)
        copied = self._copied(op, weights)
        sums = (stage.iterative and not op.scatters) or stage.nest.sums
        scratch = self.plan.find(Role.SCRATCH, self.step)
        place = self._offset(Role.ACCUMULATOR, op.output) if sums else 0
        if packed and scratch:
            place = scratch[1] - self.workspace.start
        arrays = {"scales": packed.scales, **dict.fromkeys(("bias", "multipliers", "shifts"))} if packed else {}
        return program_op(
            op,
            inputs,
            output,
            fixed,
            iterative=stage.iterative,
            sums=stage.nest.sums,
            packing=op.packing if packed else Packing.NONE,
            nibbles=op.nibbles and not packed,
            weights=None if copied else weights,
            copied=copied,
            accumulator=place,
            **arrays,
            **_tiles(op, stage, nests),
        )

    def _copied(self, op: RowOp, weights: NDArray[np.int8] | None) -> CopiedWeights | None:
        found = self.plan.find(Role.WEIGHTS, op.output)
        if found is None:
            return None
        if not op.takes_copied_weights or weights is None or weights.nbytes != found[0].nbytes:
            raise PlanError(f"the plan copies {found[0].nbytes} bytes of weights of {op.name}, which it does not have")
        return CopiedWeights(weights.reshape(-1), found[1] - self.workspace.start)

    def _output(self, op: RowOp, nests: Mapping[TensorId, LoopNest]) -> int:
        if op.sends:
            return self._on_link(op.reads[0], nests.get(op.output))
        if op.state_write:
            return self._in_state(op.state_write.tensor, replace(op.reads[0], h=op.writes.h))
        return self._tensor(op.output, op.writes, nests)

    def _on_link(self, rows: Rows, nest: LoopNest | None = None) -> int:
        stripes = NestRecord(nest.advance, nest.end, nest.rows) if nest else None
        return self._number(ProgramTensor(0, rows.h, rows.w, rows.c, rows.h, LINK_BASE, nest=stripes))

    def _operand(self, op: RowOp, k: int, nests: Mapping[TensorId, LoopNest]) -> int:
        if op.receives:
            return self._on_link(op.reads[0])
        if op.inputs[k] in self.states:
            return self._in_state(op.inputs[k], op.reads[k])
        number = self._tensor(op.inputs[k], op.reads[k], nests)
        if op.older is None:
            return number
        rolling_buffer, state = self.states[op.older]
        return self._number(
            replace([*self.tensors][number], layout=RowLayout.STATE + rolling_buffer, older=state.depth)
        )

    def _in_state(self, tensor: TensorId, rows: Rows) -> int:
        number, state = self.states[tensor]
        layout = RowLayout.STATE + number if state.advance % state.depth else RowLayout.HWC
        base = 1 + len(self.inputs) + len(self.custom.outputs)
        return self._number(ProgramTensor(state.offset, rows.h, rows.w, rows.c, rows.h, base, layout=layout))

    def _tensor(self, tensor: TensorId, rows: Rows, nests: Mapping[TensorId, LoopNest]) -> int:
        if self.source and tensor == self.source.tensor:
            return self._from_outside(self.source, rows)
        rolling_buffer, nest = self.plan.find(Role.ROLLING_BUFFER, tensor), nests.get(tensor)
        placed, handed = rolling_buffer or self.plan.find(Role.TENSOR, tensor), (*self.inputs, *self.custom.outputs)
        base, offset = 0, placed[1] - self.workspace.start if placed else 0
        if tensor in handed:
            base, offset = 1 + handed.index(tensor), 0
        elif tensor in self.slow:
            base, offset = 1 + len(handed) + bool(self.states), self.slow[tensor].offset
        depth = rolling_buffer[0].depth if rolling_buffer and not rolling_buffer[0].column_windows else rows.h
        if not (base or placed or nest):
            depth = 1  # The operator never runs, so its record has no buffer.
        layout = RowLayout.HWC if rolling_buffer or rows.h * rows.w == 1 else self.layout
        record = ProgramTensor(offset, rows.h, rows.w, rows.c, depth, base, layout=layout)
        if nest:
            column_windows = _column_windows(rolling_buffer[0], offset, rows, nest) if rolling_buffer else ()
            depth = -nest.origin if column_windows else depth
            record = replace(
                record, depth=depth, column_windows=column_windows, nest=NestRecord(nest.advance, nest.end, nest.rows)
            )
        return self._number(record)

    def _number(self, record: ProgramTensor) -> int:
        return self.tensors.setdefault(record, len(self.tensors))

    def _from_outside(self, source: InputSource, rows: Rows) -> int:
        streamed = Role.ROLLING_BUFFER, source.tensor
        kept = self.plan.find(*(streamed if source.pushed else (Role.SCRATCH, self.step)))
        depth, offset = (kept[0].depth, kept[1] - self.workspace.start) if kept else (0, 0)
        return self._number(ProgramTensor(offset, rows.h, rows.w, rows.c, depth, 1, pushed=source.pushed))

    def _offset(self, role: Role, key: int) -> int:
        found = self.plan.find(role, key)
        if found is None:
            raise KeyError(f"the plan has no {role.value} for {key}")
        return found[1] - self.workspace.start


def _layout(group: Group) -> int:
    if not group.is_reversed:
        return RowLayout.HWC
    return RowLayout.PIXELS_REVERSED if group.stripes else RowLayout.ROWS_REVERSED


def _column_windows(rolling_buffer: Buffer, offset: int, rows: Rows, nest: LoopNest) -> tuple[ColumnWindowRecord, ...]:
    pixel = -(-rows.c // nest.channel_groups) if nest.splits else rows.c
    windows = rolling_buffer.column_windows
    starts = accumulate((window.depth * pixel for window in windows), initial=offset)
    return tuple(ColumnWindowRecord(at, window.depth, window.rows) for at, window in zip(starts, windows, strict=False))


def _tiles(op: RowOp, stage: Stage, nests: Mapping[TensorId, LoopNest]) -> Mapping[str, Any]:
    if not nests:
        return {}
    nest, iterated = stage.nest, op.reads[0] if stage.iterative else op.writes
    tile = {"tile": nest.tile or (iterated.w if stage.stripes(1) else 0)}
    if nest.channel_groups == 1:
        return tile
    split = op.reads[0].c if nest.sums else op.writes.c
    channel_groups = nest.channel_groups - nest.sums
    return {**tile, "channel_groups": channel_groups, "group_channels": -(-split // channel_groups)}


def constant_operand(op: RowOp) -> ProgramTensor | None:
    if op.constant is None:
        return None
    rows = op.constant.rows
    return ProgramTensor(0, rows.h, rows.w, rows.c, rows.h, PROGRAM_BASE, constant=op.constant.values.tobytes())


def program_op(op: RowOp, inputs: Sequence[int], output: int, constant: int = 0, **fields: Any) -> ProgramOp:
    """Return the record of an operator without packed weights. The argument `fields` has values that replace the usual
    values of the record's fields. The arguments `inputs`, `output` and `constant` (unused without a constant operand)
    are indices of tensors in the program.
    """
    at = op.constant.position if op.constant else len(inputs)
    access = (Access(),) if op.scatters else op.access
    plain = ProgramOp(
        kind=op.kind,
        inputs=(*inputs[:at], *([constant] if op.constant else []), *inputs[at:]),
        output=output,
        input_zero_points=op.input_zero_points,
        output_zero_point=op.output_zero_point,
        window=op.window,
        activation=op.activation,
        param=op.param,
        weights=op.weights,
        message=op.message,
        copy=None if op.moves is None else copy_record(op.moves, access),
        bias=op.bias,
        multipliers=op.multipliers,
        shifts=op.shifts,
        access=access,
    )
    return replace(plain, **fields)


def copy_record(copied: Moves, access: Sequence[Access]) -> CopyRecord:
    first = [*accumulate((a.extent for a in access), initial=0)]
    moves = tuple(
        MoveRecord(
            first[m.operand] + m.tap, m.count, m.nbytes, m.source, m.source_step, m.phase_step, m.target,
            m.target_step, m.period, m.shift,
        ) for m in copied.moves
    )  # fmt: skip
    return CopyRecord(moves, copied.fill is not None, copied.fill or 0)
