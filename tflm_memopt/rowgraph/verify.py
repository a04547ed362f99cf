"""Verifies a row graph between the steps that change it: each rule that holds for all of them, by its name.

The planner, the checker and the lowering take these rules for granted. A graph that breaks one is a defect of the step
before, and is refused here, where the step is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import Graph
from tflm_memopt.rowgraph.graph import Kept, Node, Partition

Broken = Iterator[str]
"""Each place that breaks a rule, in words."""


def verify(graph: Graph, partition: Partition, step: str) -> None:
    """Raises PlanError that names the first broken rule, where, and the step after which it was found."""
    for rule, broken in RULES.items():
        if place := next(broken(graph, partition), None):
            raise PlanError(f"after {step}: {rule}", code="row_graph", where=place)


def _each_once(graph: Graph, partition: Partition) -> Broken:
    stated = {op.index for op in graph.ops}
    in_nodes = Counter(i for node in partition.nodes for i in _keys(node))
    for key, times in in_nodes.items():
        if times > 1:
            yield f"operator {key} is in {times} nodes"
        if key not in stated:
            yield f"operator {key} is not in the graph"
    rows = {i for region in partition.regions for i in region.ops}
    yield from (f"operator {key} has no region" for key in partition.ops.keys() - rows)
    yield from (f"operator {key} of a region has no rows" for key in rows - partition.ops.keys())


def _known(graph: Graph, partition: Partition) -> Broken:
    for node in partition.nodes:
        yield from (f"tensor {t} of {_name(node)}" for t in _tensors(partition, node) if t not in graph.tensors)


def _single_writer(graph: Graph, partition: Partition) -> Broken:
    written = Counter(set(graph.inputs))  # the caller may list one twice
    for node in partition.nodes:
        written.update(node.outputs if isinstance(node, Kept) else (partition.ops[i].output for i in node.ops))
    yield from (f"tensor {t} has {times} writers" for t, times in written.items() if times > 1)


def _written_first(graph: Graph, partition: Partition) -> Broken:
    there = {*graph.inputs, *partition.external}
    for node in partition.nodes:
        if isinstance(node, Kept):
            yield from (f"tensor {t} of {_name(node)}" for t in node.inputs if t not in there)
            there.update(node.outputs)
            continue
        for key in node.ops:
            op = partition.ops[key]
            yield from (f"tensor {t} of operator {key} {op.name}" for t in op.inputs if t not in there)
            there.add(op.output)
    yield from (f"output {t} of the model" for t in graph.outputs if t not in there)


def _same_bytes(_graph: Graph, partition: Partition) -> Broken:
    made = {op.output: op.writes for op in partition.ops.values()}
    for key, op in partition.ops.items():
        for t, rows in zip(op.inputs, op.reads, strict=True):
            if t in made and made[t].nbytes != rows.nbytes:
                yield f"operator {key} {op.name} reads {rows.nbytes} B of tensor {t}, which has {made[t].nbytes} B"


def _handed_over(graph: Graph, partition: Partition) -> Broken:
    wanted = set(graph.outputs).union(*(node.inputs for node in partition.nodes))
    for region in partition.regions:
        ops = [partition.ops[i] for i in region.ops]
        inside = {op.output for op in ops}
        read = {t for op in ops for t in op.inputs} - inside - partition.external
        if set(region.inputs) != read:
            yield f"{_name(region)} has inputs {sorted(region.inputs)}, its operators read {sorted(read)}"
        if set(region.outputs) != inside & wanted:
            yield f"{_name(region)} has outputs {sorted(region.outputs)}, others read {sorted(inside & wanted)}"


RULES: Mapping[str, Callable[[Graph, Partition], Broken]] = {
    "every operator is in one node": _each_once,
    "every tensor is in the graph": _known,
    "every tensor has one writer": _single_writer,
    "tensors are written before they are read": _written_first,
    "a reader sees as many bytes as the writer makes": _same_bytes,
    "a region takes and leaves what its operators read and others want": _handed_over,
}


def _keys(node: Node) -> tuple[int, ...]:
    return (node.op,) if isinstance(node, Kept) else (*node.ops, *node.views)


def _tensors(partition: Partition, node: Node) -> Iterator[int]:
    if isinstance(node, Kept):
        yield from (*node.inputs, *node.outputs)
        return
    for key in node.ops:
        yield from (*partition.ops[key].inputs, partition.ops[key].output)


def _name(node: Node) -> str:
    return f"operator {node.op}" if isinstance(node, Kept) else f"region {node.number}"
