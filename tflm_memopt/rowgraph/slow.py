"""Decides which tensors may be in slow memory, and moves tensors there."""

from collections.abc import Collection
from dataclasses import replace

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.rowgraph.graph import Region, RowGraph


def may_be_slow(graph: RowGraph) -> frozenset[TensorId]:
    """Return the tensors that only one region uses and that share no bytes with other tensors.

    TFLM needs the model's inputs and outputs and the tensors of TFLM's own kernels in the arena. A tensor that one
    region passes to another region stays in fast memory, since each region is run and verified separately.
    """
    made = {op.output for op in graph.ops.values() if not op.leaves}
    known = {*graph.model.inputs, *graph.model.outputs, *(t for node in graph.nodes for t in node.inputs)}
    shared = {*graph.parts, *(part.storage for part in graph.parts.values())}
    return frozenset(made - known - shared - graph.spaces.keys())


def with_slow(graph: RowGraph, tensors: Collection[TensorId]) -> RowGraph:
    """Return a graph with tensors in slow memory. Raises PlanError if a tensor cannot be in slow memory."""
    if not tensors:
        return graph
    slow = frozenset(tensors)
    if wrong := slow - may_be_slow(graph):
        raise PlanError(f"tensor {min(wrong)} cannot be in slow memory")

    def without(region: Region) -> Region:
        inputs = tuple(t for t in region.inputs if t not in slow)
        return replace(region, inputs=inputs, outputs=tuple(t for t in region.outputs if t not in slow))

    nodes = tuple(without(node) if isinstance(node, Region) else node for node in graph.nodes)
    return replace(graph, nodes=nodes, slow=slow)
