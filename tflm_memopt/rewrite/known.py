"""Evaluates integers that depend only on shapes and constants, so that the integers are known before run time.

For an unknown batch size, converters write SHAPE, STRIDED_SLICE and PACK before a RESHAPE.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import ABSENT, Graph, Op, Tensor, TensorId, renamed, without_dead
from tflm_memopt.ops import movement
from tflm_memopt.ops.context import OperatorContext

Values = NDArray[Any]
Evaluate = Callable[[OperatorContext, Sequence[Values]], Values]

INTEGERS: Mapping[str, Any] = {"INT32": np.iinfo(np.int32), "INT64": np.iinfo(np.int64)}
MOST = 1024
"""Maximum number of elements of a tensor whose values are computed."""


def with_known(graph: Graph, left_alone: Collection[int] = ()) -> Graph:
    """Replace integers that are equal in every inference by constants, and return the graph.

    Operators with an index in `left_alone` keep their operands.
    """
    values, makers = evaluated(graph)
    if not makers:
        return graph
    first = max(graph.tensors) + 1
    constants = {t: replace(graph.tensors[t], id=first + k, data=v) for k, (t, v) in enumerate(values.items())}
    names, alone = {t: constant.id for t, constant in constants.items()}, {*makers, *left_alone}
    ops = tuple(op if op.index in alone else replace(op, inputs=renamed(op.inputs, names)) for op in graph.ops)
    tensors = {**graph.tensors, **{t.id: t for t in constants.values()}}
    return without_dead(replace(graph, tensors=tensors, ops=ops), lambda op: op.index not in makers)


def evaluated(graph: Graph) -> tuple[Mapping[TensorId, Values], Collection[int]]:
    """Return the values of tensors that depend only on constants and shapes, and the indices of the operators that
    compute these values.
    """
    values: dict[TensorId, Values] = {}
    makers: set[int] = set()
    for op in graph.ops:
        made = _value(graph, op, values)
        if made is not None:
            values[op.outputs[0]] = made
            makers.add(op.index)
    return values, makers


def _value(graph: Graph, op: Op, known: Mapping[TensorId, Values]) -> Values | None:
    if op.type not in EVALUATED or len(op.outputs) != 1 or not op.inputs or ABSENT in op.inputs:
        return None
    target = graph.tensors[op.outputs[0]]
    if not _static(target) or target.dtype not in INTEGERS or target.constant:
        return None
    operands = [_operand(graph.tensors[t], known) for t in op.inputs]
    context = OperatorContext(graph, op)
    try:
        if op.type == "SHAPE":
            result = _shape(context)
        elif any(v is None for v in operands):
            return None
        else:
            result = EVALUATED[op.type](context, [v.astype(np.int64) for v in operands if v is not None])
    except (ValueError, IndexError, KeyError, TypeError):
        return None
    limits = INTEGERS[target.dtype]
    fits = result.shape == target.shape and ((result >= limits.min) & (result <= limits.max)).all()
    return result.astype(target.dtype.lower()) if fits else None


def _static(tensor: Tensor) -> bool:
    return not (tensor.dynamic or tensor.variable) and tensor.elements <= MOST and all(d >= 0 for d in tensor.shape)


def _operand(tensor: Tensor, known: Mapping[TensorId, Values]) -> Values | None:
    value = known.get(tensor.id, tensor.data)
    usable = value is not None and _static(tensor) and tensor.dtype in INTEGERS and value.shape == tensor.shape
    return value if usable else None


def _shape(context: OperatorContext) -> Values:
    source = context.input()
    if source.dynamic:
        raise ValueError(f"tensor {source.id} has no shape yet")
    return np.array(source.shape, np.int64)


def _reshaped(context: OperatorContext, x: Sequence[Values]) -> Values:
    return x[0].reshape(context.output.shape)


def _plain(compute: Callable[[Values, Values], Values], context: OperatorContext, x: Sequence[Values]) -> Values:
    a, b = x
    small = all(np.abs(v).max(initial=0) < 1 << 31 for v in x)
    if not small or context.op.options.get("fusedActivationFunction", "NONE") != "NONE":
        raise ValueError("beyond the arithmetic of shapes")
    return compute(a, b)


def _sliced(context: OperatorContext, x: Sequence[Values]) -> Values:
    options = context.op.options
    if any(options.get(n) for n in ("ellipsisMask", "newAxisMask", "offset")):
        raise ValueError("TFLM does not look at it")
    return movement.strided_slice(context, x[:1])


EVALUATED: Mapping[str, Evaluate] = {
    "SHAPE": lambda context, _: _shape(context),
    "STRIDED_SLICE": _sliced,
    "SLICE": lambda context, x: movement.slice_(context, x[:1]),
    "PACK": movement.pack,
    "CONCATENATION": movement.concatenation,
    "RESHAPE": _reshaped,
    "SQUEEZE": _reshaped,
    "EXPAND_DIMS": _reshaped,
    "CAST": _reshaped,
    "ADD": partial(_plain, np.add),
    "SUB": partial(_plain, np.subtract),
    "MUL": partial(_plain, np.multiply),
    "MAXIMUM": partial(_plain, np.maximum),
    "MINIMUM": partial(_plain, np.minimum),
}
"""GATHER and REDUCE_PROD are not evaluated, because TFLM has no kernels that compute them for int32 or int64."""
