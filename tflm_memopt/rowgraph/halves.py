"""Splits the first pass of a reduction into two halves of its channels, which run one after the other.

Expand, depthwise and MEAN reduce to one value per channel, and channels do not mix on the way. So one half can finish
before the other starts: intermediate tensors are half as wide, and nothing is recomputed (fan-out of channels, as in
FDT: fused tiling thesis, section 4.2). This only applies where the operators' input is whole anyway, as before a second
pass (rematerialisation.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tflm_memopt.model.graph import ABSENT, Op, Tensor, TensorId
from tflm_memopt.ops.intervals import Bools
from tflm_memopt.ops.movement import side_by_side
from tflm_memopt.ops.packing import VECTOR
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rowgraph.fold import narrowed
from tflm_memopt.rowgraph.graph import Region, RowGraph

JOINED = "CONCATENATION"


@dataclass(frozen=True, slots=True)
class _Reduction:
    """Operators from a convolution to one value per channel, through which channels do not mix."""

    keys: tuple[int, ...]
    """Keys in execution order."""
    joined: TensorId
    """The only tensor that other operators read."""
    channels: int


def in_halves(graph: RowGraph, first: int) -> RowGraph:
    """Return the graph with the reduction that starts with operator `first` split into halves, if there is one.

    The first half has a multiple of 16 channels and the second at least 16, so that the kernels of all targets run them
    as they run the whole.
    """
    found = _reduction(graph, first)
    if found is None:
        return graph
    ops, tensors = dict(graph.ops), dict(graph.model.tensors)
    stated = {op.index: op for op in graph.model.ops}
    new = max(stated) + 1
    middle = (found.channels + VECTOR) // (2 * VECTOR) * VECTOR
    added: list[Op] = []
    halves: list[TensorId] = []
    for begin, end in ((0, middle), (middle, found.channels)):
        mask = np.zeros(found.channels, dtype=np.bool_)
        mask[begin:end] = True
        copies: dict[TensorId, TensorId] = {}
        for key in found.keys:
            half = _half(ops[key], mask)
            tensor, name = max(tensors) + 1, tensors[half.output].name
            shape = (*tensors[half.output].shape[:-1], half.writes.c)
            tensors[tensor] = replace(tensors[half.output], id=tensor, name=f"{name}/half", shape=shape)
            inputs = tuple(copies.get(t, t) for t in half.inputs)
            copies[half.output] = tensor
            ops[new] = replace(half, inputs=inputs, output=tensor)
            added.append(_stated(stated[key], new, ops[new], tensors))
            new += 1
        halves.append(copies[found.joined])
    last = found.keys[-1]
    ops[new] = _join(ops, last, halves, [op.index for op in added])
    join = replace(stated[last], type=JOINED, options={"axis": -1}, inputs=tuple(halves))
    added.append(_stated(join, new, ops[new], tensors))
    for key in found.keys:
        del ops[key]
    model = replace(graph.model, tensors=tensors, ops=tuple(replaced(graph.model.ops, found.keys, last, added)))
    keys = [op.index for op in added]
    nodes = tuple(
        replace(node, ops=tuple(i for key in node.ops for i in (keys if key == last else [key]) if i in ops))
        if isinstance(node, Region)
        else node
        for node in graph.nodes
    )
    return replace(graph, model=model, nodes=nodes, ops=ops)


def _reduction(graph: RowGraph, first: int) -> _Reduction | None:
    """Return the reduction that starts with this operator if it can be split, or None."""
    head = graph.ops.get(first)
    if head is None or not head.is_convolution or head.writes.c < 2 * VECTOR:
        return None
    channels = head.writes.c
    region = next(node for node in graph.regions if first in node.ops)
    inside = {head.output: head}
    keys = [first]
    for key in region.ops[region.ops.index(first) + 1 :]:
        op = graph.ops[key]
        alike = all(t in inside and rows == inside[t].writes for t, rows in zip(op.inputs, op.reads, strict=True))
        if (op.is_depthwise or op.is_channelwise) and alike and op.writes.c == channels:
            keys.append(key)
            inside[op.output] = op
    wanted = set(graph.model.outputs).union(*(node.inputs for node in graph.builtins))
    wanted.update(t for key, op in graph.ops.items() if key not in keys for t in op.inputs)
    left = [op for t, op in inside.items() if t in wanted]
    if len(left) != 1 or left[0].writes.h * left[0].writes.w > 1 or left[0] is not graph.ops[keys[-1]]:
        return None
    return _Reduction(tuple(keys), left[0].output, channels)


def _half(op: RowOp, mask: Bools) -> RowOp:
    """Return an operator on some of the channels; the convolution at the start reads all input channels."""
    whole = op.is_convolution
    read = [np.ones(rows.c, dtype=np.bool_) if whole else mask for rows in op.reads]
    return narrowed(op, read, mask, op.bias)


def _join(ops: Mapping[int, RowOp], last: int, halves: Sequence[TensorId], makers: Collection[int]) -> RowOp:
    """Return the operator that concatenates the halves."""
    whole, made = ops[last], {ops[key].output: ops[key].writes for key in makers}
    reads = tuple(made[t] for t in halves)
    return side_by_side(JOINED, whole.sources, tuple(halves), whole.output, reads, whole.writes)


def _stated(op: Op, index: int, made: RowOp, tensors: Mapping[TensorId, Tensor]) -> Op:
    """Return the model's operator with the activations that `made` reads. Constant operands stay those of the whole."""
    read = iter(made.inputs)
    inputs = tuple(t if t == ABSENT or tensors[t].constant else next(read) for t in op.inputs)
    return replace(op, index=index, inputs=inputs, outputs=(made.output,), sources=op.stands_for)


def replaced(stated: Sequence[Op], old: Collection[int], last: int, new: Sequence[Op]) -> Iterator[Op]:
    """Yield the graph's operators, with the new ones in place of the last old one."""
    for op in stated:
        if op.index == last:
            yield from new
        elif op.index not in old:
            yield op
