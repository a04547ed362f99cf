"""Verifies the row graph after each step that changes the graph, and names the rule that the graph breaks."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from tflm_memopt.errors import PlanError
from tflm_memopt.rowgraph.graph import BuiltinNode, RowGraph

Broken = Iterator[str]


def verify(graph: RowGraph, step: str) -> None:
    """Raise PlanError with the first broken rule, its place, and the step after which it was found."""
    for rule, broken in RULES.items():
        if place := next(broken(graph), None):
            raise PlanError(f"after {step}: {rule}", where=place)


def _each_once(graph: RowGraph) -> Broken:
    stated = {op.index for op in graph.model.ops}
    in_nodes = Counter(
        i for node in graph.nodes for i in ((node.op,) if isinstance(node, BuiltinNode) else (*node.ops, *node.views))
    )
    for key, times in in_nodes.items():
        if times > 1:
            yield f"operator {key} is in {times} nodes"
        if key not in stated:
            yield f"operator {key} is not in the graph"
    rows = {i for region in graph.regions for i in region.ops}
    yield from (f"operator {key} has no region" for key in graph.ops.keys() - rows)
    yield from (f"operator {key} of a region has no rows" for key in rows - graph.ops.keys())


def _known(graph: RowGraph) -> Broken:
    for key, step in graph.steps:
        used = (*step.inputs, *step.outputs)
        yield from (f"tensor {t} of operator {key}" for t in used if t not in graph.model.tensors)


def _single_writer(graph: RowGraph) -> Broken:
    written = Counter(set(graph.model.inputs))  # A model may list an input twice.
    for _, step in graph.steps:
        written.update(step.outputs)
    yield from (f"tensor {t} has {times} writers" for t, times in written.items() if times > 1)


def _written_first(graph: RowGraph) -> Broken:
    there = {*graph.model.inputs, *graph.outside}
    for key, step in graph.steps:
        yield from (f"tensor {t} of operator {key}" for t in step.inputs if t not in there)
        there.update(step.outputs)
    yield from (f"output {t} of the model" for t in graph.model.outputs if t not in there)


def _same_bytes(graph: RowGraph) -> Broken:
    made = {op.output: op.writes for op in graph.ops.values()}
    for key, op in graph.ops.items():
        for t, rows in zip(op.inputs, op.reads, strict=True):
            if t in made and made[t].nbytes != rows.nbytes:
                yield f"operator {key} {op.name} reads {rows.nbytes} B of tensor {t}, which has {made[t].nbytes} B"


def _handed_over(graph: RowGraph) -> Broken:
    wanted = set(graph.model.outputs).union(*(node.inputs for node in graph.nodes))
    for region in graph.regions:
        ops = [graph.ops[i] for i in region.ops]
        inside = {op.output for op in ops}
        read = {t for op in ops for t in op.inputs} - inside - graph.outside
        name, handed = f"region {region.number}", inside & wanted
        if set(region.inputs) != read:
            yield f"{name} has inputs {sorted(region.inputs)}, but its operators read {sorted(read)}"
        if set(region.outputs) != handed:
            yield f"{name} has outputs {sorted(region.outputs)}, but others read {sorted(handed)}"


RULES: Mapping[str, Callable[[RowGraph], Broken]] = {
    "every operator is in one node": _each_once,
    "every tensor is in the graph": _known,
    "every tensor has one writer": _single_writer,
    "tensors are written before they are read": _written_first,
    "a reader sees as many bytes as the writer makes": _same_bytes,
    "a region's inputs are what its operators read, and its outputs are what others read": _handed_over,
}
