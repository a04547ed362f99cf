"""Replaces operators that TFLM lacks, so that TFLM can run the model."""

import copy
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
CAST = ("INT16", "BOOL", "INT32")
"""Types whose values become float32 values without loss before TFLM's kernels move them."""
PADDING = ("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")


def runnable(data: bytes) -> bytes:
    """Replace operators that TFLM lacks by operators of TFLM, and return a model with the same output bytes.

    TILE becomes RESHAPE, BROADCAST_TO and RESHAPE. SELECT becomes SELECT_V2, or arithmetic for int32 values.
    STRIDED_SLICE and TRANSPOSE become GATHER if they have too many dimensions for TFLM. Some kernels of TFLM that only
    move values do not accept int16, int32 or bool, so the values are converted to float32. Operators with invalid
    operands are not replaced.
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


class Operators:
    """Builds the operators that replace an operator of the model."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        self.made: list[Any] = []

    def add(self, name: str, inputs: Sequence[int], shape: Shape, dtype: str, output: int | None = None) -> int:
        """Add an operator, and return its output. If `output` is None, the output is a new tensor."""
        result = writer.add_tensor(self.tree, "", shape, dtype) if output is None else output
        self.made.append(writer.operator(writer.add_opcode(self.tree, name), inputs, (result,)))
        return result

    def constant(self, values: Any) -> int:
        data = np.array(values, np.int32)
        return writer.add_tensor(self.tree, "", data.shape, "INT32", buffer=writer.add_buffer(self.tree, data))

    def floats(self, source: int, shape: Shape, dtype: str) -> list[int]:
        """Convert a tensor to float32 tensors, which whole() converts back to the type `dtype`. An int32 value becomes
        the value of its lower 16 bits and the rest, because float32 does not hold every int32 value.
        """
        if dtype != "INT32":
            return [self.add("CAST", (source,), shape, "FLOAT32")]
        low = self.add("CAST", (source,), shape, "INT16")
        rest = self.add("SUB", (source, self.add("CAST", (low,), shape, "INT32")), shape, "INT32")
        return [self.add("CAST", (part,), shape, "FLOAT32") for part in (low, rest)]

    def whole(self, parts: Sequence[int], shape: Shape, dtype: str, output: int) -> None:
        if len(parts) == 1:
            self.add("CAST", parts, shape, dtype, output)
        else:
            self.add("ADD", [self.add("CAST", (part,), shape, dtype) for part in parts], shape, dtype, output)


def _tile(tree: Any, graph: Graph, op: Op, operator: Any) -> list[Any] | None:
    steps = _steps(graph, op)
    if steps is None:
        return None
    new, source, output = Operators(tree), operator.inputs[0], operator.outputs[0]
    dtype = graph.tensors[source].dtype
    for one, many in steps:
        source = new.add("RESHAPE", (source, new.constant(one)), one, dtype)
        source = new.add("BROADCAST_TO", (source, new.constant(many)), many, dtype)
    shape = graph.tensors[output].shape
    new.add("RESHAPE", (source, new.constant(shape)), shape, dtype, output)
    return new.made


def _select(tree: Any, graph: Graph, op: Op, operator: Any) -> list[Any] | None:
    if len(op.inputs) != OPERANDS or not (op.type == "SELECT_V2" or is_plain_select(graph, op)):
        return None
    if any(graph.tensors[t].dtype != "INT32" for t in (*op.inputs[1:], *op.outputs)):
        if op.type == "SELECT_V2":
            return None
        operator.opcodeIndex = writer.add_opcode(tree, "SELECT_V2")
        return [operator]
    condition, *choices = op.inputs
    new = Operators(tree)

    def add(name: str, inputs: Sequence[int], output: int | None = None) -> int:
        shape = np.broadcast_shapes(*(tree.subgraphs[0].tensors[t].shape for t in inputs))
        return new.add(name, inputs, shape, "INT32", output)

    chosen = add("CAST", [condition])
    masks = chosen, add("SUB", [new.constant([1]), chosen])
    add("ADD", [add("MUL", pair) for pair in zip(choices, masks, strict=True)], op.outputs[0])
    return new.made


def _moved(tree: Any, graph: Graph, op: Op, operator: Any) -> list[Any] | None:
    context = OperatorContext(graph, op)
    if refusal(context) is not None:
        return None
    if len(context.input().shape) <= RANKS[op.type][1]:
        return _in_float(tree, graph, op, operator)
    x, count, new = context.input(), context.input().elements, Operators(tree)
    if x.dtype not in GATHERED + CAST:
        return None
    places = STEP[op.type](context, [np.arange(count, dtype=np.int32).reshape(x.shape)])
    shape, result = context.output.shape, op.outputs[0]
    flat = new.add("RESHAPE", (x.id, new.constant([count])), (count,), x.dtype)
    if x.dtype in GATHERED:
        new.add("GATHER", (flat, new.constant(places)), shape, x.dtype, result)
        return new.made
    parts = new.floats(flat, (count,), x.dtype)
    moved = [new.add("GATHER", (part, new.constant(places)), shape, "FLOAT32") for part in parts]
    new.whole(moved, shape, x.dtype, result)
    return new.made


def _in_float(tree: Any, graph: Graph, op: Op, operator: Any) -> list[Any] | None:
    """Let the operator compute in float32: cast all operands and results that have the type of the first result. Of
    int32 operands, cast only the first, because the others are indices. An operator that pads int16 values needs a zero
    point of 0, because TFLM pads float32 values with 0.
    """
    if not op.outputs or ABSENT in op.inputs or (dtype := graph.tensors[op.outputs[0]].dtype) not in CAST:
        return None
    moved = [t for t in (op.inputs[:1] if dtype == "INT32" else op.inputs) if graph.tensors[t].dtype == dtype]
    types = [[graph.tensors[t].dtype for t in ends] for ends in (op.inputs, op.outputs)]
    in_float = ["FLOAT32" if t in moved else graph.tensors[t].dtype for t in op.inputs], ["FLOAT32"] * len(op.outputs)
    if accepts(op.type, *types) or not accepts(op.type, *in_float):
        return None
    ends = [graph.tensors[t] for t in (*moved, *op.outputs)]
    if op.type in PADDING and any(t.quantization is None or t.quantization.zero_point[0] for t in ends):
        return None
    new = Operators(tree)
    floats = {t: new.floats(t, graph.tensors[t].shape, dtype) for t in dict.fromkeys(moved)}
    results: list[list[int]] = []
    for k in range(len(next(iter(floats.values())))):
        one = copy.copy(operator)
        one.inputs = np.array([floats[t][k] if t in moved else t for t in op.inputs], np.int32)
        results.append([writer.add_tensor(tree, "", graph.tensors[t].shape, "FLOAT32") for t in op.outputs])
        one.outputs = np.array(results[-1], np.int32)
        new.made.append(one)
    for t, *parts in zip(op.outputs, *results, strict=True):
        new.whole(parts, graph.tensors[t].shape, dtype, t)
    return new.made


REPLACED: Mapping[str, Callable[[Any, Graph, Op, Any], list[Any] | None]] = {
    "TILE": _tile, "SELECT": _select, "SELECT_V2": _select, "STRIDED_SLICE": _moved, "TRANSPOSE": _moved,
    **dict.fromkeys((*PADDING, "GATHER", "PACK", "PAD", "RESIZE_NEAREST_NEIGHBOR"), _in_float),
    **dict.fromkeys(("SPLIT", "SPLIT_V", "UNPACK"), _in_float),
}  # fmt: skip
