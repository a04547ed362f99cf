"""Builds the rewritten model: custom operators with their programs, and TFLM's offline memory plan."""

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers

from tflm_memopt.errors import PlanError
from tflm_memopt.format.codes import InputPlace
from tflm_memopt.lower.lowering import CustomOp, lower, workspace
from tflm_memopt.lower.serialise import pack
from tflm_memopt.model import writer
from tflm_memopt.model.calls import called
from tflm_memopt.model.graph import ITEM_BYTES, OPERANDS, VIEW, Graph, Op, Quantization, Tensor, TensorId
from tflm_memopt.model.interface import METADATA, Changes, record
from tflm_memopt.model.names import CONV, DENSE, GROUP, OFFLINE_PLAN, OFFLINE_PLAN_VERSION, ONLINE, REGION
from tflm_memopt.model.reader import TENSOR_TYPES
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.iteration.planned import Planned, PlannedGroup
from tflm_memopt.plan.plan import Builtin, Role
from tflm_memopt.rewrite.parts import PART
from tflm_memopt.rowgraph.graph import RowGraph, Space
from tflm_memopt.rowgraph.regions import region_of, tensor_use

CUSTOM = "CUSTOM"
_OPTIONS: Mapping[str, Callable[[Op], Any]] = {
    "CONCATENATION": lambda op: schema.ConcatenationOptionsT(axis=op.options["axis"]),
    "PAD": lambda op: schema.PadOptionsT(),
    "SLICE": lambda op: schema.SliceOptionsT(),
}
VIEWS = tuple(getattr(schema.BuiltinOperator, kind) for kind in ("RESHAPE", "SQUEEZE", "EXPAND_DIMS"))
MOST_LINES = 32
"""Maximum number of groups that a custom operator describes as text, because text takes flash."""
STREAM_STATE = (2,)
"""Shape of the int32 variable that holds a tmo_stream (the position in a streamed input) between calls of Invoke()."""


def rewrite(tree: Any, planned: Planned, changes: Changes, *, op_per_group: bool) -> bytes:
    """Return the rewritten model as bytes. The argument `tree` is the original model, to which the given changes were
    made.
    """
    graph, plan, main = planned.graph, planned.plan, tree.subgraphs[0]
    originals = list(main.operators)
    _place_input(tree, graph)
    operators: list[Any] = []
    for added in sorted(graph.model.tensors.keys() - set(range(len(main.tensors)))):
        add_tensor(tree, graph.model.tensors[added])
    offsets: dict[TensorId, int] = {b.key: o for b, o in plan.placed() if b.role is Role.TENSOR}
    offsets |= {t: offsets[part.storage] + part.first for t, part in graph.parts.items()}
    if not any(called(op) for op in graph.model.ops):
        # No operator calls a subgraph, so the rewritten model keeps only the main subgraph.
        del tree.subgraphs[1:]
    main.operators = []
    ops = {op.index: op for op in graph.model.ops}
    for item in sequence(planned, op_per_group=op_per_group):
        if isinstance(item, Builtin):
            operators += builtin_operators(tree, ops[item.op], originals)
            continue
        operators.append(_custom_operator(tree, item, offsets, len(operators)))
    main.operators = operators
    _narrow(main.tensors, graph.ops)
    if changes:
        writer.set_metadata(tree, METADATA, record(changes))
    renumbered = writer.drop_unused(tree)
    placed = _apart(tree, {renumbered[t]: o for t, o in offsets.items() if t in renumbered}, graph.model.subgraphs[1:])
    tensors = sum(len(subgraph.tensors) for subgraph in tree.subgraphs)
    offsets_of_all = (placed.get(t, ONLINE) for t in range(tensors))
    table = [OFFLINE_PLAN_VERSION, len(tree.subgraphs), tensors, *offsets_of_all]
    writer.set_metadata(tree, OFFLINE_PLAN, np.array(table, dtype="<i4"))
    return writer.write(tree)


def _apart(tree: Any, placed: Mapping[int, int], others: Sequence[Graph]) -> Mapping[int, int]:
    """The argument `placed` maps tensors of the main subgraph to their offsets. The tensors of the main subgraph get
    indices above the indices of all activations in other subgraphs. Return a map from the tensors' new indices to their
    offsets in the arena.
    """
    if len(tree.subgraphs) == 1:
        return placed
    most = 0
    for number, other in enumerate(others, 1):
        activations = [i for i, tensor in other.tensors.items() if not tensor.constant]
        most = max(most, len(activations))
        writer.reorder_tensors(tree, dict.fromkeys((*activations, *other.tensors)), number)
    tensors = tree.subgraphs[0].tensors
    for _ in range(most - (len(tensors) - len(placed))):
        writer.add_tensor(tree, "tmo/unused", (0,), "UINT8")
    new = writer.reorder_tensors(tree, sorted(range(len(tensors)), key=placed.__contains__))
    return {new[t]: offset for t, offset in placed.items()}


def sequence(planned: Planned, *, op_per_group: bool) -> Iterator[CustomOp | Builtin]:
    graph, plan, groups = planned.graph, planned.plan, planned.groups
    calls = {call[0]: call for call in plan.calls()}
    use = tensor_use(graph.model, graph.ops, graph.builtins, graph.outside)
    stateful = {g.step.region for g in groups.values() if any(op.stateful for op in g.ops)}
    for number, step in enumerate(plan.steps):
        if isinstance(step, Builtin):
            yield step
        elif op_per_group and step.region not in stateful:  # Operators that share a state stay together.
            yield _alone(groups[number])
        elif number in calls:
            region = region_of(plan.operators(calls[number]), graph.ops, use)
            yield CustomOp(REGION, tuple(groups[n] for n in calls[number]), region.inputs, region.outputs)


def _alone(group: PlannedGroup) -> CustomOp:
    ops, single = group.ops, {"CONV_2D": CONV, "FULLY_CONNECTED": DENSE}
    name = single.get(ops[0].name, GROUP) if len(ops) == 1 else GROUP
    made = {op.output for op in ops}
    whole = {b.key for b in group.plan.buffers if b.role is Role.TENSOR}
    inputs = dict.fromkeys(t for op in ops for t in op.inputs if t not in made | group.graph.outside)
    return CustomOp(name, (group,), tuple(inputs), tuple(op.output for op in ops if op.output in whole))


def builtin_operators(tree: Any, op: Op, originals: Sequence[Any]) -> list[Any]:
    """An operator that only changes a shape reads the new shape from a constant. A change of shape that is not in the
    original model becomes a RESHAPE. Raises PlanError if an operator that computes values has other inputs than in the
    original model.
    """
    if PART in op.options:
        return [_part(tree, op, originals)]
    kept = [originals[i] for i in op.stands_for]
    if op.type == VIEW:
        same = [
            one
            for one in kept
            if int(tree.operatorCodes[one.opcodeIndex].builtinCode) in VIEWS
            and (one.inputs[0], one.outputs[0]) == (op.inputs[0], op.outputs[0])
        ]
        if not same:
            return [writer.operator(writer.add_opcode(tree, "RESHAPE"), op.inputs, op.outputs)]
        same[0].inputs = np.array([op.inputs[0], *op.options[OPERANDS]], np.int32)
        return same[:1]
    if not any(np.array_equal(one.inputs, op.inputs) for one in kept):
        raise PlanError(f"operator {op.index} {op.type} stays builtin, but the plan changed its inputs")
    return kept


def _part(tree: Any, op: Op, originals: Sequence[Any]) -> Any:
    if op.type == CUSTOM:
        opcode = writer.add_opcode(tree, CUSTOM, custom_code=op.options["custom_code"])
        return writer.operator(opcode, op.inputs, op.outputs, op.options["custom_options"])
    if not op.sources:
        new = writer.operator(writer.add_opcode(tree, op.type), op.inputs, op.outputs)
        new.builtinOptions = _OPTIONS[op.type](op)
        new.builtinOptionsType = getattr(schema.BuiltinOptions, type(new.builtinOptions).__name__.removesuffix("T"))
        return new
    part = copy.deepcopy(originals[op.sources[0]])
    part.inputs, part.outputs = np.asarray(op.inputs, np.int32), np.asarray(op.outputs, np.int32)
    if op.type == "RESHAPE":
        part.builtinOptions = schema.ReshapeOptionsT()
    if "padding" in op.options:
        part.builtinOptions.padding = getattr(schema.Padding, str(op.options["padding"]))
    return part


def _custom_operator(tree: Any, custom: CustomOp, offsets: dict[TensorId, int], position: int) -> Any:
    program, pauses = lower(custom), custom.plan.pauses
    data = pack(program)
    place = writer.add_buffer(tree, data)
    constant = writer.add_tensor(tree, f"tmo/program_{position}", (len(data),), "UINT8", buffer=place)
    outputs, space = list(custom.outputs), workspace(custom)
    if space:
        outputs.append(writer.add_tensor(tree, f"tmo/workspace_{position}", (len(space),), "UINT8"))
        offsets[outputs[-1]] = space.start
    opcode = writer.add_opcode(tree, CUSTOM, custom_code=custom.name)
    inputs = [*custom.inputs]
    # A reset of the interpreter sets the variable tmo/stream_ to 0, so that the next row begins a new input.
    if program.input in (InputPlace.STREAM, InputPlace.LINK):
        inputs.append(writer.add_tensor(tree, f"tmo/stream_{position}", STREAM_STATE, "INT32", variable=True))
    if program.state:
        inputs.append(writer.add_tensor(tree, f"tmo/state_{position}", (program.state,), "UINT8", variable=True))
    if pauses:
        data = np.array(pauses, "<i4").tobytes()
        place = writer.add_buffer(tree, data)
        inputs.append(writer.add_tensor(tree, f"tmo/pauses_{position}", (len(pauses),), "INT32", buffer=place))
        inputs.append(writer.add_tensor(tree, f"tmo/paused_{position}", STREAM_STATE, "INT32", variable=True))
    return writer.operator(opcode, (*inputs, constant), outputs, _options(custom))


def _place_input(tree: Any, graph: RowGraph) -> None:
    """A streamed input gets the shape of the rows that arrive at once, and an external input is
    removed from the model.
    """
    if graph.source and graph.source.space is Space.EXTERNAL:
        writer.drop_input(tree, graph.source.tensor)
    for t in graph.model.inputs:
        entry, shape = tree.subgraphs[0].tensors[t], graph.model.tensors[t].shape
        if tuple(map(int, entry.shape)) != shape:
            entry.shape, entry.shapeSignature = np.array(shape, np.int32), None


def add_tensor(tree: Any, tensor: Tensor) -> None:
    """Add a new tensor to the model."""
    q = tensor.quantization or Quantization((), ())
    buffer = 0 if tensor.data is None else writer.add_buffer(tree, tensor.data.tobytes())
    index = writer.add_tensor(
        tree, tensor.name, tensor.shape, tensor.dtype, scale=q.scale, zero_point=q.zero_point, buffer=buffer
    )
    if index != tensor.id:
        raise ValueError(f"tensor {tensor.id} '{tensor.name}' became number {index}")
    if q.axis:
        tree.subgraphs[0].tensors[index].quantization.quantizedDimension = q.axis


def _narrow(tensors: Sequence[Any], ops: Mapping[int, RowOp]) -> None:
    """Correct the shapes of tensors that have lost channels. TFLM may allocate memory for the shapes."""
    for op in ops.values():
        entry, item = tensors[op.output], ITEM_BYTES[TENSOR_TYPES[tensors[op.output].type]]
        if item * math.prod(map(int, entry.shape)) != op.writes.nbytes:
            entry.shape = np.array([1, op.writes.h, op.writes.w, op.writes.c // item], np.int32)


def _options(custom: CustomOp) -> bytes:
    words = {f"group {n}": _described(group) for n, group in enumerate(custom.groups[:MOST_LINES])}
    if len(custom.groups) > MOST_LINES:
        words["more"] = f"{len(custom.groups) - MOST_LINES} groups"
    return bytes(flexbuffers.Dumps(words))


def _described(group: PlannedGroup) -> str:
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
