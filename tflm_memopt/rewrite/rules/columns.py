"""Exchanges rows and columns of maps if, without an exchange, RAM would have to hold whole maps.

In networks such as BC-ResNet, a mean along each column needs all rows of a map. Networks for many electrodes have
windows of more rows than the library supports. If rows and columns are exchanged, operators can compute one row at a
time. The exchange changes the order of additions for integers only, so the output bytes stay equal.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from tflm_memopt.format.limits import MAX_KERNEL_H
from tflm_memopt.model.graph import ABSENT, Graph, Op, Tensor, TensorId, renamed
from tflm_memopt.ops.context import AXES, CONVOLUTIONS, EXPLICIT_PADDING, POOLS, REDUCTIONS, OperatorContext
from tflm_memopt.rewrite.rules.rule import NewOps, Ops, has, has_rows, refused, supported

INTEGERS = frozenset({"INT8", "INT16"})
SIZED = frozenset({"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"})
WINDOWS = frozenset((*CONVOLUTIONS, *POOLS))
ELEMENTWISE = frozenset(
    """
    ABS ADD CAST DEQUANTIZE ELU EQUAL GREATER GREATER_EQUAL HARD_SWISH LEAKY_RELU LESS LESS_EQUAL LOGICAL_AND
    LOGICAL_NOT LOGICAL_OR LOGISTIC LOG_SOFTMAX MAXIMUM MINIMUM MUL NOT_EQUAL PRELU QUANTIZE RELU RELU6 RSQRT SELECT_V2
    SOFTMAX SQUARED_DIFFERENCE SUB TANH
    """.split()  # noqa: SIM905
)
"""Operators that compute each output pixel only from the same pixel of each operand."""
ALONG_CHANNELS = frozenset({"LOG_SOFTMAX", "SOFTMAX"})
"""Operators that compute each output pixel only from all channels of one input pixel."""
SUMS = WINDOWS | REDUCTIONS | SIZED
"""Operators that add values. Sums of float32 values may change if rows and columns are exchanged."""
DIMENSIONS: Mapping[str, tuple[int, ...]] = {
    "BROADCAST_TO": (1,), "MIRROR_PAD": (1,), "PAD": (1,), "PADV2": (1,), "SLICE": (1, 2), "STRIDED_SLICE": (1, 2, 3),
}  # fmt: skip
PAIRS = ("strideH", "strideW"), ("dilationHFactor", "dilationWFactor"), ("filterHeight", "filterWidth")
MASKS, OTHER_MASKS = ("beginMask", "endMask"), ("ellipsisMask", "newAxisMask", "shrinkAxisMask")
MOVES = frozenset({"RESHAPE", "TRANSPOSE"})
EXCHANGED = (0, 2, 1, 3)
WORTH = 2
"""An exchange of axes must save at least WORTH buffered bytes for each byte that it transposes."""
Constants = dict[int, NDArray[Any]]
Maps = Callable[[Graph, Op], list[TensorId]]


def _reduces_columns(graph: Graph, op: Op) -> bool:
    if op.type not in REDUCTIONS or not has(op, 1):
        return False
    context = OperatorContext(graph, op)
    return _is_map(context.input()) and context.axes() == {1} and _is_map(context.output)


def _is_too_tall(graph: Graph, op: Op) -> bool:
    source = graph.tensors[op.inputs[0]]
    if not _is_long(graph, op, 1) or not _is_map(source) or 1 in source.shape[1:3]:
        return False
    return not has_rows(graph, op) and rearranged(graph, op, EXCHANGED) is not None


def _is_long(graph: Graph, op: Op, axis: int) -> bool:
    if op.type not in WINDOWS or not op.options or ("CONV" in op.type and not has(op, 1)):
        return False
    return OperatorContext(graph, op).kernel()[axis - 1] > MAX_KERNEL_H


def _waiting(graph: Graph, part: Ops, axis: int) -> Iterator[int]:
    for op in part:
        maps = [graph.tensors[t] for t in _maps(graph, op)]
        if op.type in ELEMENTWISE and len({t.shape[axis] for t in maps}) > 1:
            yield max(t.nbytes for t in maps)
        elif _is_long(graph, op, axis):
            yield graph.tensors[op.inputs[0]].nbytes


def rewrite(graph: Graph, op: Op, worth: float = WORTH) -> Graph | None:
    """Exchange rows and columns if a reduction adds up columns or if a window has too many rows. The exchange includes
    all connected operators that need the new order of axes.
    """
    if graph.producer(op.outputs[0]) is not op or not (_reduces_columns(graph, op) or _is_too_tall(graph, op)):
        return None
    ops = _part(graph, op)
    waiting = max(_waiting(graph, ops, 1), default=0)
    if not waiting or any(_waiting(graph, ops, 2)):
        return None
    inside = {op.index for op in ops}
    transposed = 0
    for t in {t for op in ops for t in _maps(graph, op)}:
        producer, tensor = graph.producer(t), graph.tensors[t]
        if producer is None and t not in graph.inputs:  # A tensor without producer is a state
            return None
        near = [one for one in (producer, *graph.consumers(t)) if one is not None and one.index not in inside]
        is_border = t in graph.inputs or t in graph.outputs
        if 1 not in tensor.shape[1:3] and (is_border or any(one.type not in MOVES for one in near)):
            transposed += tensor.nbytes
    return None if transposed and transposed * worth > waiting else supported(*_rewritten(graph, ops))


def _part(graph: Graph, anchor: Op) -> Ops:
    found = {op.index for op in connected(graph, anchor, _maps, EXCHANGED)}
    return anchor, *(op for op in graph.ops if op.index in found and op is not anchor)


def connected(graph: Graph, start: Op, maps: Maps, order: Sequence[int]) -> list[Op]:
    """Return `start` and the connected operators whose axes can be reordered."""
    found, seen = [start], {start.index}
    for op in found:
        for near in neighbours(graph, maps(graph, op)):
            if near.index not in seen and can_rearrange(graph, near, order):
                found.append(near)
            seen.add(near.index)
    return found


def neighbours(graph: Graph, tensors: Iterable[TensorId]) -> Iterator[Op]:
    for t in tensors:
        yield from (op for op in (graph.producer(t), *graph.consumers(t)) if op is not None)


def can_rearrange(graph: Graph, op: Op, order: Sequence[int]) -> bool:
    return rearranged(graph, op, order) is not None and not refused(graph, op)


def _is_map(tensor: Tensor) -> bool:
    shape = tensor.shape
    return len(shape) == 4 and shape[0] == 1 and shape[1:3] != (1, 1) and not tensor.constant


def _maps(graph: Graph, op: Op) -> list[TensorId]:
    return [t for t in dict.fromkeys((*op.inputs, *op.outputs)) if t != ABSENT and _is_map(graph.tensors[t])]


def rearranged(graph: Graph, op: Op, order: Sequence[int]) -> tuple[Constants, dict[str, Any]] | None:
    """Return an operator's constants and options for maps with another order of axes. The key of a constant is its
    operand's index. Return None if the operator cannot run with the new order of axes.
    """
    operands = [None if t == ABSENT else graph.tensors[t] for t in op.inputs]
    computed = [t for t in operands if t is not None and not t.constant]
    results = [graph.tensors[t] for t in op.outputs]
    axes = OperatorContext(graph, op).axes() if op.type in REDUCTIONS and has(op, 1) else frozenset()
    if any(t.variable or t.shape[:1] != (1,) for t in (*computed, *results)):
        return None
    if any(len(t.shape) != 4 for t in (*computed, *(results if len(axes) < 2 else ()))):
        return None
    in_order = op.type in WINDOWS and bool(op.options) and 1 in OperatorContext(graph, op).kernel()
    if op.type in SUMS and not in_order and any(t.dtype not in INTEGERS for t in (*computed, *results)):
        return None
    if op.type in WINDOWS | SIZED and order != EXCHANGED:
        return None
    constants = {k: t.data for k, t in enumerate(operands) if t is not None and t.data is not None}
    needed, options = tuple[int, ...](), dict(op.options)
    if op.type in WINDOWS:
        needed = (1,) if "CONV" in op.type else ()
        options |= {a: options[b] for pair in PAIRS if pair[0] in options for a, b in (pair, pair[::-1])}
        if EXPLICIT_PADDING in options:
            options[EXPLICIT_PADDING] = (*options[EXPLICIT_PADDING][2:], *options[EXPLICIT_PADDING][:2])
    elif op.type in REDUCTIONS and 0 not in axes:
        options[AXES] = tuple(sorted(order.index(a) for a in axes))
    elif op.type in ELEMENTWISE | {"CONCATENATION"} and (op.type not in ALONG_CHANNELS or order[-1] == len(order) - 1):
        needed = tuple(k for k, data in constants.items() if data.size > 1)
        if "axis" in options:
            options["axis"] = order.index(options["axis"] % len(order))
    elif op.type in SIZED:
        return ({1: constants[1][::-1]}, options) if 1 in constants else None
    elif op.type in DIMENSIONS and not any(options.get(name) for name in OTHER_MASKS):
        options |= {name: _bits(options[name], order) for name in MASKS if name in options}
        lists = [constants.get(k) for k in DIMENSIONS[op.type]]
        if any(data is None or len(data) != len(order) for data in lists):
            return None
        return {k: constants[k][list(order)] for k in DIMENSIONS[op.type]}, options
    else:
        return None
    if not all(k in constants for k in needed):
        return None
    return {k: _in_four(constants[k]).transpose(order) for k in needed}, options


def add_rearranged(
    made: NewOps, op: Op, order: Sequence[int], maps: Mapping[TensorId, TensorId], sources: Sequence[int]
) -> None:
    constants, options = rearranged(made.graph, op, order) or ({}, {})
    inputs = tuple(
        made.put(made.tensors[t], constants[k].shape, data=constants[k]) if k in constants else maps.get(t, t)
        for k, t in enumerate(op.inputs)
    )
    outputs = renamed(op.outputs, maps)
    made.ops.append(replace(op, inputs=inputs, outputs=outputs, options=options, sources=tuple(sources)))


def _in_four(data: NDArray[Any]) -> NDArray[Any]:
    return data.reshape((1,) * (len(EXCHANGED) - data.ndim) + data.shape)


def _bits(mask: int, order: Sequence[int]) -> int:
    """Return the mask with the bits of the axes in another order.

    >>> _bits(0b0101, (0, 2, 1, 3))
    3
    """
    return sum((mask >> axis & 1) << place for place, axis in enumerate(order))


def _rewritten(graph: Graph, ops: Ops) -> tuple[Graph, dict[int, Ops]]:
    inside = {op.index for op in ops}
    made, new, maps = NewOps(graph, ops[0]), {}, {}

    def cross(source: TensorId, target: TensorId) -> None:
        if 1 in made.tensors[source].shape[1:3]:
            made.add("RESHAPE", [source], target)
        else:
            made.add("TRANSPOSE", [source, made.integers(EXCHANGED)], target)

    for op in (op for op in graph.ops if op.index in inside):
        made.op, made.ops = op, []
        for t in _maps(graph, op):
            if t not in maps:
                tensor = graph.tensors[t]
                maps[t] = made.put(tensor, tuple(tensor.shape[a] for a in EXCHANGED))
                producer = graph.producer(t)
                if producer is None or producer.index not in inside:
                    cross(t, maps[t])
        add_rearranged(made, op, EXCHANGED, maps, op.stands_for)
        for t in op.outputs:
            if t in maps and (t in graph.outputs or any(one.index not in inside for one in graph.consumers(t))):
                cross(maps[t], t)
        new[op.index] = tuple(made.ops)
    return made.extended, new
