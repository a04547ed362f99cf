"""Replaces operators that TFLM lacks, so that TFLM can run the model."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tflm_memopt.model import interface, writer
from tflm_memopt.model.graph import ABSENT, Graph, Op
from tflm_memopt.model.names import OFFLINE_PLAN, ONLINE
from tflm_memopt.model.reader import read
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.movement import STEP
from tflm_memopt.ops.opset import refusal
from tflm_memopt.ops.select import OPERANDS
from tflm_memopt.rewrite.rules.composed import is_plain_select
from tflm_memopt.tflm.accepted import accepts
from tflm_memopt.tflm.refused import RANKS

Shape = tuple[int, ...]
GATHERED = ("FLOAT32", "INT8")
"""Types that TFLM's GATHER takes."""
CAST = ("INT16", "BOOL")
"""Types whose values are cast to float32 without loss before TFLM's kernels move them."""
PADDING = ("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")


def runnable(data: bytes) -> bytes:
    """Replace operators that TFLM lacks by operators of TFLM, and return a model with the same output bytes.

    TILE becomes RESHAPE, BROADCAST_TO and RESHAPE. SELECT becomes SELECT_V2, or arithmetic for int32 values.
    STRIDED_SLICE and TRANSPOSE become GATHER if they have too many dimensions for TFLM. Some kernels of TFLM that only
    move values accept neither int16 nor bool, so the values are converted to float32. Operators with invalid operands
    are not replaced.
    """
    model = read(data)
    if not any(op.type in REPLACED for op in model.graph.ops):
        return data
    tree = writer.edit(model)
    operators, changed = [], False
    for op, operator in zip(model.graph.ops, tree.subgraphs[0].operators, strict=True):
        others = REPLACED[op.type](tree, model.graph, op, operator) if op.type in REPLACED else None
        operators += [operator] if others is None else others
        changed |= others is not None
    if not changed:
        return data
    tree.subgraphs[0].operators = operators
    plan = interface.metadata(tree, OFFLINE_PLAN)
    if plan is not None:
        version, subgraphs, known, *offsets = np.frombuffer(plan, "<i4").tolist()
        count = len(tree.subgraphs[0].tensors)
        table = [version, subgraphs, count, *offsets, *[ONLINE] * (count - known)]
        writer.set_metadata(tree, OFFLINE_PLAN, np.array(table, "<i4"))
    return writer.write(tree)


def _steps(graph: Graph, op: Op) -> list[tuple[Shape, Shape]] | None:
    if (len(op.inputs), len(op.outputs)) != (2, 1) or ABSENT in op.inputs:
        return None
    source, multiples, output = (graph.tensors[t] for t in (*op.inputs, *op.outputs))
    if multiples.data is None or multiples.data.size != len(source.shape):
        return None
    shape, steps = list(source.shape), list[tuple[Shape, Shape]]()
    for axis, multiple in enumerate(multiples.data.flatten().tolist()):
        if multiple != 1:
            outer, inner = math.prod(shape[:axis]), math.prod(shape[axis:])
            steps.append(((outer, 1, inner), (outer, multiple, inner)))
            shape[axis] *= multiple
    return steps if tuple(shape) == output.shape else None


def _tile(tree: Any, graph: Graph, op: Op, operator: Any) -> list[Any] | None:
    steps = _steps(graph, op)
    if steps is None:
        return None
    source, output = operator.inputs[0], operator.outputs[0]
    operators = []

    def add(name: str, shape: Shape, output: int) -> int:
        operators.append(writer.operator(writer.add_opcode(tree, name), (source, _constant(tree, shape)), (output,)))
        return output

    dtype = graph.tensors[source].dtype
    for one, many in steps:
        source = add("RESHAPE", one, writer.add_tensor(tree, "", one, dtype))
        source = add("BROADCAST_TO", many, writer.add_tensor(tree, "", many, dtype))
    add("RESHAPE", graph.tensors[output].shape, output)
    return operators


def _select(tree: Any, graph: Graph, op: Op, operator: Any) -> list[Any] | None:
    if len(op.inputs) != OPERANDS or not (op.type == "SELECT_V2" or is_plain_select(graph, op)):
        return None
    if any(graph.tensors[t].dtype != "INT32" for t in (*op.inputs[1:], *op.outputs)):
        if op.type == "SELECT_V2":
            return None
        operator.opcodeIndex = writer.add_opcode(tree, "SELECT_V2")
        return [operator]
    condition, *choices = op.inputs
    operators = []

    def add(name: str, inputs: Sequence[int], output: int | None = None) -> int:
        shape = np.broadcast_shapes(*(tree.subgraphs[0].tensors[t].shape for t in inputs))
        made = writer.add_tensor(tree, "", shape, "INT32") if output is None else output
        operators.append(writer.operator(writer.add_opcode(tree, name), inputs, (made,)))
        return made

    chosen = add("CAST", [condition])
    masks = chosen, add("SUB", [_constant(tree, [1]), chosen])
    add("ADD", [add("MUL", pair) for pair in zip(choices, masks, strict=True)], op.outputs[0])
    return operators


def _moved(tree: Any, graph: Graph, op: Op, operator: Any) -> list[Any] | None:
    context = OperatorContext(graph, op)
    if refusal(context) is not None:
        return None
    if len(context.input().shape) <= RANKS[op.type][1]:
        return _in_float(tree, graph, op, operator)
    if context.input().dtype not in GATHERED + CAST:
        return None
    x, count = context.input(), context.input().elements
    places = STEP[op.type](context, [np.arange(count, dtype=np.int32).reshape(x.shape)])
    operators = []

    def add(name: str, inputs: Sequence[int], shape: Shape, dtype: str, output: int | None = None) -> int:
        made = writer.add_tensor(tree, "", shape, dtype) if output is None else output
        operators.append(writer.operator(writer.add_opcode(tree, name), inputs, (made,)))
        return made

    shape, result = context.output.shape, op.outputs[0]
    flat = add("RESHAPE", (x.id, _constant(tree, [count])), (count,), x.dtype)
    if x.dtype in GATHERED:
        add("GATHER", (flat, _constant(tree, places)), shape, x.dtype, result)
        return operators
    flat = add("CAST", (flat,), (count,), "FLOAT32")
    add("CAST", (add("GATHER", (flat, _constant(tree, places)), shape, "FLOAT32"),), shape, x.dtype, result)
    return operators


def _in_float(tree: Any, graph: Graph, op: Op, operator: Any) -> list[Any] | None:
    """Let the operator compute in float32: cast all operands and results that have the type of the first result. An
    operator that pads its input needs a zero point of 0, because TFLM pads float32 values with 0.
    """
    if not op.outputs or ABSENT in op.inputs or (dtype := graph.tensors[op.outputs[0]].dtype) not in CAST:
        return None
    types = [[graph.tensors[t].dtype for t in ends] for ends in (op.inputs, op.outputs)]
    in_float = [[t.replace(dtype, "FLOAT32") for t in ends] for ends in types]
    if accepts(op.type, *types) or not accepts(op.type, *in_float):
        return None
    moved = [graph.tensors[t] for t in dict.fromkeys((*op.inputs, *op.outputs)) if graph.tensors[t].dtype == dtype]
    if op.type in PADDING and any(t.quantization is None or t.quantization.zero_point[0] for t in moved):
        return None
    floats = {t.id: writer.add_tensor(tree, "", t.shape, "FLOAT32") for t in moved}
    cast = writer.add_opcode(tree, "CAST")
    before = [writer.operator(cast, (t,), (floats[t],)) for t in dict.fromkeys(op.inputs) if t in floats]
    operator.inputs, operator.outputs = (
        np.array([floats.get(t, t) for t in ends], np.int32) for ends in (op.inputs, op.outputs)
    )
    return [*before, operator, *(writer.operator(cast, (floats[t],), (t,)) for t in op.outputs)]


def _constant(tree: Any, values: Any) -> int:
    data = np.array(values, np.int32)
    return writer.add_tensor(tree, "", data.shape, "INT32", buffer=writer.add_buffer(tree, data))


REPLACED: Mapping[str, Callable[[Any, Graph, Op, Any], list[Any] | None]] = {
    "TILE": _tile, "SELECT": _select, "SELECT_V2": _select, "STRIDED_SLICE": _moved, "TRANSPOSE": _moved,
    **dict.fromkeys((*PADDING, "GATHER", "PACK", "UNPACK", "SPLIT_V", "RESIZE_NEAREST_NEIGHBOR"), _in_float),
}  # fmt: skip
