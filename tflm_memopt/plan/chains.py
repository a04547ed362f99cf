"""Prepares each region for planning, and finds when each tensor is live."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.search.groups import Chain
from tflm_memopt.rowgraph.graph import BuiltinNode, Node, Region, RowGraph


def stored(graph: RowGraph) -> RowGraph:
    """Return the graph without tensors that are parts of other tensors: operators then use the whole tensor instead of
    the part.
    """
    parts = graph.parts

    def storages(tensors: Iterable[TensorId]) -> tuple[TensorId, ...]:
        return tuple(dict.fromkeys(parts[t].storage if t in parts else t for t in tensors))

    def fills(tensor: TensorId) -> TensorId | None:
        if tensor not in parts:
            return tensor
        whole = parts[tensor].storage
        return whole if graph.model.tensors[whole].nbytes == graph.model.tensors[tensor].nbytes else None

    def renamed(node: Node) -> Node:
        if not isinstance(node, BuiltinNode):
            return node
        inputs = storages(node.inputs)
        outputs = tuple(t for t in storages(node.outputs) if t not in inputs)
        grows = all(fills(t) is not None for t in node.outputs)
        whole = {s: order for t, order in node.orders.items() if (s := fills(t)) is not None and grows}
        return replace(node, inputs=inputs, outputs=outputs, orders=whole)

    if not parts:
        return graph
    nodes = tuple(map(renamed, graph.nodes))
    return replace(graph, model=replace(graph.model, outputs=storages(graph.model.outputs)), nodes=nodes)


@dataclass(frozen=True, slots=True)
class TensorLives:
    made: Mapping[TensorId, int]
    """Index of the first node that writes a tensor, or -1 for an input of the model."""
    read: Mapping[TensorId, int]
    """Index of the last node that reads a tensor, or of the node after the last one for a model output."""

    def before(self, tensor: TensorId, number: int) -> bool:
        return self.made.get(tensor, number) < number

    def after(self, tensor: TensorId, number: int) -> bool:
        return self.read.get(tensor, number) > number


def lives_of(graph: RowGraph) -> TensorLives:
    made = dict.fromkeys(graph.model.inputs, -1)
    read: dict[TensorId, int] = {}
    for number, node in enumerate(graph.nodes):
        for t in node.outputs:
            made.setdefault(t, number)
        read |= dict.fromkeys(node.inputs, number)
    return TensorLives(made, read | dict.fromkeys(graph.model.outputs, len(graph.nodes)))


def living_through(graph: RowGraph, lives: TensorLives) -> list[tuple[TensorId, ...]]:
    """For each node, return the tensors that are live but unused while the node runs."""
    found: list[list[TensorId]] = [[] for _ in graph.nodes]
    for t, first in lives.made.items():
        for number in range(first + 1, lives.read.get(t, 0)):
            if t not in graph.nodes[number].inputs:
                found[number].append(t)
    if found:
        found[0] += [t for t in dict.fromkeys(graph.model.inputs) if t not in lives.read]
    return [tuple(sorted(tensors)) for tensors in found]


def chains_of(
    graph: RowGraph, sizes: Mapping[TensorId, int], whole: Sequence[tuple[TensorId, ...]], lives: TensorLives
) -> dict[int, Chain]:
    regions = (number for number, node in enumerate(graph.nodes) if isinstance(node, Region))
    return {number: chain_of(graph, number, sum(sizes[t] for t in whole[number]), lives) for number in regions}


def chain_of(graph: RowGraph, number: int, across: int, lives: TensorLives) -> Chain:
    node = graph.nodes[number]
    keys = node.ops if isinstance(node, Region) else ()
    ops, source = tuple(graph.ops[i] for i in keys), graph.source
    left = {op.output for op in ops if op.leaves}
    touched = {t for op in ops for t in (*op.inputs, op.output)}
    after = {t for t in touched if lives.after(t, number)}
    source = source if source and source.tensor in touched else None
    return Chain(keys, ops, frozenset(after | left | _passed_over(ops, after)), across, source, graph.spaces)


def _passed_over(ops: Sequence[RowOp], outside: Collection[TensorId]) -> set[TensorId]:
    """Return tensors whose last rows the device receives, but does not read."""
    if not any(op.receives for op in ops):
        return set()
    # An operator may read a tensor with rows of another size, so rows are counted in bytes.
    asked: dict[TensorId, int] = {}
    for op in reversed(ops):
        whole = op.output in outside or op.leaves
        rows = op.writes.h if whole else -(-asked.get(op.output, 0) // op.writes.row_bytes)
        for k, (t, read) in enumerate(zip(op.inputs, op.reads, strict=True)):
            first, end = op.rows(k, np.arange(rows))
            asked[t] = max(asked.get(t, 0), int(end[end > first].max(initial=0)) * read.row_bytes)
    return {op.output for op in ops if op.receives and asked.get(op.output, 0) < op.writes.nbytes}
