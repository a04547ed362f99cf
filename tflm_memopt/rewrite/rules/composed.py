"""Splits an operator that cannot run row by row into several operators that can."""

from collections.abc import Callable, Mapping

import numpy as np

from tflm_memopt.model.graph import ABSENT, Graph, Op
from tflm_memopt.ops.context import AXES
from tflm_memopt.rewrite.rules.rule import NewOps, replace_ops

EPSILON = 1e-6
"""L2_NORMALIZATION divides by at least EPSILON (micro/kernels/l2norm.cc)."""


def _is_composed(graph: Graph, op: Op) -> bool:
    tensors = [graph.tensors.get(t) for t in (*op.inputs, *op.outputs)]
    return op.type in FLOATS and {None if t is None else t.dtype for t in tensors} == {"FLOAT32"}


def is_plain_select(graph: Graph, op: Op) -> bool:
    tensors = [graph.tensors.get(t) for t in (*op.inputs, *op.outputs)]
    shapes = {None if t is None else t.shape for t in tensors}
    return op.type == "SELECT" and (len(tensors), len(shapes)) == (4, 1) and None not in shapes


def _is_product(graph: Graph, op: Op) -> bool:
    """Return whether the weights of an int8 FULLY_CONNECTED without bias are not constant."""
    operands = [graph.tensors[t] for t in op.inputs if t != ABSENT] if op.type == "FULLY_CONNECTED" else []
    activation = op.options.get("fusedActivationFunction", "NONE")
    if len(operands) != 2 or operands[1].constant or activation != "NONE":
        return False
    return {t.dtype for t in (*operands, graph.tensors[op.outputs[0]])} == {"INT8"} and len(operands[1].shape) == 2


def rewrite(graph: Graph, op: Op) -> Graph | None:
    """If a new operator stays builtin, annotate() restores the original operator."""
    if not (is_plain_select(graph, op) or _is_composed(graph, op) or _is_product(graph, op)):
        return None
    made = NewOps(graph, op)
    BY_TYPE[op.type](made)
    return replace_ops(made.extended, {op.index: tuple(made.ops)})


def _chosen(made: NewOps) -> None:
    made.add("SELECT_V2", made.op.inputs, made.op.outputs[0])


def _product(made: NewOps) -> None:
    x, weights = (made.tensors[t] for t in made.op.inputs[:2])
    out = made.tensors[made.op.outputs[0]]
    units, depth = weights.shape
    rows = out.elements // units
    operands = [made.shaped(x.id, rows, depth), made.shaped(weights.id, units, depth)]
    y = made.add("BATCH_MATMUL", operands, made.put(out, (rows, units)), adjX=False, adjY=True)
    made.add("RESHAPE", [y], out.id)


def _normalized(made: NewOps) -> None:
    (x,) = made.op.inputs
    tensor = made.tensors[x]
    each = (*tensor.shape[:-1], 1)
    squares = made.add("SQUARE", [x], made.put(tensor, tensor.shape))
    total = made.add("SUM", [squares], made.put(tensor, each), **{AXES: (len(each) - 1,)}, keepDims=True)
    norm = made.add("SQRT", [total], made.put(tensor, each))
    epsilon = made.put(tensor, (1,), data=np.array([EPSILON], np.float32))
    least = made.add("MAXIMUM", [epsilon, norm], made.put(tensor, each))
    made.add("DIV", [x, least], made.op.outputs[0], fusedActivationFunction="NONE")


def _summed(made: NewOps) -> None:
    """Add the operands to 0 one after the other, like TFLM (reference/add_n.h), so that negative zeros give +0."""
    x = made.tensors[made.op.outputs[0]]
    total = made.put(x, (1,), data=np.zeros(1, np.float32))
    for n, operand in enumerate(made.op.inputs, 1):
        end = x.id if n == len(made.op.inputs) else made.put(x, x.shape)
        total = made.add("ADD", [total, operand], end, fusedActivationFunction="UNLIMITED")


FLOATS: Mapping[str, Callable[[NewOps], None]] = {"ADD_N": _summed, "L2_NORMALIZATION": _normalized}
BY_TYPE: Mapping[str, Callable[[NewOps], None]] = {**FLOATS, "SELECT": _chosen, "FULLY_CONNECTED": _product}
