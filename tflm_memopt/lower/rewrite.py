"""Builds the rewritten model: custom operators in place of regions, their programs, and the offline memory plan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflm_memopt.format.codes import InputPlace
from tflm_memopt.lower import builtin
from tflm_memopt.lower.lowering import OperatorUnit, lower, workspace
from tflm_memopt.lower.program import Program
from tflm_memopt.lower.serialise import pack
from tflm_memopt.lower.words import options
from tflm_memopt.model import writer
from tflm_memopt.model.calls import called
from tflm_memopt.model.graph import ITEM_BYTES, Graph, Quantization, Tensor, TensorId
from tflm_memopt.model.interface import METADATA, Changes, record
from tflm_memopt.model.names import CONV, DENSE, GROUP, OFFLINE_PLAN, OFFLINE_PLAN_VERSION, ONLINE, REGION
from tflm_memopt.model.reader import TENSOR_TYPES
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Builtin, Group, Plan, Role, Stage
from tflm_memopt.rowgraph.graph import InputSource, RowGraph
from tflm_memopt.rowgraph.regions import region_of, tensor_use

STREAM_STATE = (2,)
"""Shape of the int32 variable that a streamed input's operator keeps between calls of Invoke: tmo_stream."""


@dataclass(frozen=True, slots=True)
class CustomOp:
    """One custom operator of the rewritten model."""

    name: str
    unit: OperatorUnit
    program: Program


def rewrite(tree: Any, graph: RowGraph, plan: Plan, changes: Changes, *, op_per_group: bool) -> bytes:
    """Return the rewritten model's bytes. tree: the original as the schema's objects with `changes` applied; it is
    edited.
    """
    main = tree.subgraphs[0]
    originals = list(main.operators)
    frame = graph.source
    _place_input(tree, graph.model, frame)
    operators: list[Any] = []
    for added in sorted(graph.model.tensors.keys() - set(range(len(main.tensors)))):
        add_tensor(tree, graph.model.tensors[added])
    offsets: dict[TensorId, int] = {b.key: o for b, o in plan.placed() if b.role is Role.TENSOR}
    offsets |= {t: offsets[part.storage] + part.first for t, part in graph.parts.items()}
    if not any(called(op) for op in graph.model.ops):
        del tree.subgraphs[1:]  # they initialised the states; also removes damaged signatures of them
    main.operators = []
    ops = {op.index: op for op in graph.model.ops}
    for item in sequence(graph, plan, op_per_group=op_per_group):
        if isinstance(item, Builtin):
            operators += builtin.operators(tree, ops[item.op], originals)
            continue
        custom = CustomOp(item.name, item.unit, lower(plan, item.unit, graph.ops, frame))
        operators.append(_custom_operator(tree, custom, plan, graph.ops, offsets, len(operators)))
    main.operators = operators
    _narrow(main.tensors, graph.ops)
    if changes:
        writer.set_metadata(tree, METADATA, record(changes))
    renumbered = writer.drop_unused(tree)
    placed = {renumbered[t]: o for t, o in offsets.items() if t in renumbered}
    tensors = sum(len(subgraph.tensors) for subgraph in tree.subgraphs)
    offsets_of_all = (placed.get(t, ONLINE) for t in range(tensors))
    table = [OFFLINE_PLAN_VERSION, len(tree.subgraphs), tensors, *offsets_of_all]
    writer.set_metadata(tree, OFFLINE_PLAN, np.array(table, dtype="<i4"))
    return writer.write(tree)


@dataclass(frozen=True, slots=True)
class Call:
    """A custom operator to write: its name and what it runs."""

    name: str
    unit: OperatorUnit


def sequence(graph: RowGraph, plan: Plan, *, op_per_group: bool) -> Iterator[Call | Builtin]:
    """Return the rewritten model's operators in execution order."""
    calls = {call[0]: call for call in plan.calls()}
    use = tensor_use(graph.model, graph.ops, graph.kept, graph.outside)
    for number, step in enumerate(plan.steps):
        if isinstance(step, Builtin):
            yield step
        elif op_per_group and not any(graph.ops[stage.op].stateful for stage in _stages(plan, step.region)):
            yield Call(_group_name(step, graph.ops), _group_unit(plan, number, graph))
        elif number in calls:
            region = region_of(plan.operators(calls[number]), graph.ops, use)
            yield Call(REGION, OperatorUnit(calls[number], region.inputs, region.outputs))


def _stages(plan: Plan, region: int) -> Iterator[Stage]:
    """Return all operators of a region. Operators that share a state stay together."""
    for step in plan.steps:
        if isinstance(step, Group) and step.region == region:
            yield from step.stages


def _group_name(group: Group, ops: Mapping[int, RowOp]) -> str:
    names = {ops[stage.op].name for stage in group.stages}
    single = {"CONV_2D": CONV, "FULLY_CONNECTED": DENSE}
    return single.get(names.pop(), GROUP) if len(group.stages) == 1 else GROUP


def _group_unit(plan: Plan, number: int, graph: RowGraph) -> OperatorUnit:
    group, ops = plan.steps[number], graph.ops
    if not isinstance(group, Group):
        raise TypeError(f"step {number} is not a group")
    inside = [ops[stage.op] for stage in group.stages]
    made = {op.output for op in inside}
    whole = {b.key for b in plan.buffers if b.role is Role.TENSOR}
    inputs = dict.fromkeys(t for op in inside for t in op.inputs if t not in made | graph.outside)
    return OperatorUnit((number,), tuple(inputs), tuple(op.output for op in inside if op.output in whole))


def _custom_operator(
    tree: Any, custom: CustomOp, plan: Plan, ops: Mapping[int, RowOp], offsets: dict[TensorId, int], position: int
) -> Any:
    """Add the operator's program and workspace to the tree, and the workspace's offset to `offsets`."""
    data = pack(custom.program)
    program = _bytes_tensor(tree, f"tmo/program_{position}", len(data), writer.add_buffer(tree, data))
    outputs = list(custom.unit.outputs)
    space = workspace(plan, custom.unit, ops)
    if space.nbytes:
        outputs.append(_bytes_tensor(tree, f"tmo/workspace_{position}", space.nbytes, 0))
        offsets[outputs[-1]] = space.offset
    opcode = writer.add_opcode(tree, "CUSTOM", custom_code=custom.name)
    inputs = [*custom.unit.inputs]
    if custom.program.input in (
        InputPlace.STREAM,
        InputPlace.LINK,
    ):  # TFLM zeroes variables on reset, which begins a new frame
        inputs.append(writer.add_tensor(tree, f"tmo/stream_{position}", STREAM_STATE, "INT32", variable=True))
    if custom.program.state:
        inputs.append(writer.add_tensor(tree, f"tmo/state_{position}", (custom.program.state,), "UINT8", variable=True))
    if plan.pauses:
        data = np.array(plan.pauses, "<i4").tobytes()
        place = writer.add_buffer(tree, data)
        inputs.append(writer.add_tensor(tree, f"tmo/pauses_{position}", (len(plan.pauses),), "INT32", buffer=place))
        inputs.append(writer.add_tensor(tree, f"tmo/paused_{position}", STREAM_STATE, "INT32", variable=True))
    words = options(plan, custom.unit, ops)
    return writer.operator(opcode, (*inputs, program), outputs, words)


def _place_input(tree: Any, graph: Graph, frame: InputSource | None) -> None:
    """Give a streamed input the shape of one push, or remove an external input from the model's inputs."""
    if frame and not frame.pushed:
        writer.drop_input(tree, frame.tensor)
    for t in graph.inputs:
        entry, shape = tree.subgraphs[0].tensors[t], graph.tensors[t].shape
        if tuple(map(int, entry.shape)) != shape:
            entry.shape, entry.shapeSignature = np.array(shape, np.int32), None


def add_tensor(tree: Any, tensor: Tensor) -> None:
    """Add a tensor that canonicalisation created. Between groups, it may become a TFLM tensor."""
    q = tensor.quantization or Quantization((), ())
    buffer = 0 if tensor.data is None else writer.add_buffer(tree, tensor.data.tobytes())
    index = writer.add_tensor(
        tree, tensor.name, tensor.shape, tensor.dtype, scale=q.scale, zero_point=q.zero_point, buffer=buffer
    )
    if index != tensor.id:
        raise ValueError(f"tensor {tensor.id} '{tensor.name}' became number {index}")
    if q.axis:
        tree.subgraphs[0].tensors[index].quantization.quantizedDimension = q.axis


def _bytes_tensor(tree: Any, name: str, nbytes: int, buffer: int) -> int:
    return writer.add_tensor(tree, name, (nbytes,), "UINT8", buffer=buffer)


def _narrow(tensors: Sequence[Any], ops: Mapping[int, RowOp]) -> None:
    """Set the shapes of tensors between groups that lost channels and still belong to TFLM."""
    for op in ops.values():
        entry, item = tensors[op.output], ITEM_BYTES[TENSOR_TYPES[tensors[op.output].type]]
        if item * math.prod(map(int, entry.shape)) != op.writes.nbytes:
            entry.shape = np.array([1, op.writes.h, op.writes.w, op.writes.c // item], np.int32)


def programs(rewritten: Graph) -> Sequence[bytes]:
    """Return the programs in a rewritten model, in the order of its operators."""
    found = []
    for op in rewritten.ops:
        if op.type == "CUSTOM" and op.options.get("custom_code") in (REGION, CONV, DENSE, GROUP):
            data = next(rewritten.tensors[t].data for t in reversed(op.inputs) if rewritten.tensors[t].data is not None)
            found.append(b"" if data is None else data.tobytes())
    return found
