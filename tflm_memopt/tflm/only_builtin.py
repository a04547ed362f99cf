"""Finds the tensors that may share memory in TFLM's kernels, for plans with only builtin operators."""

from collections.abc import Mapping
from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op, TensorId
from tflm_memopt.rowgraph.graph import BuiltinNode, RowGraph, StoredIn
from tflm_memopt.tflm import access_order
from tflm_memopt.tflm.builtin_memory import UNKNOWN, Persistent, Scratch, kernel_name, node_of
from tflm_memopt.tflm.libraries import Library
from tflm_memopt.tflm.lifetimes import called_bytes
from tflm_memopt.tflm.structs import Abi, size_of


def only_builtin(graph: RowGraph, macs: Mapping[int, int], library: Library, abi: Abi) -> RowGraph:
    """Return the graph with builtin operators only, and with the access orders of their kernels."""
    ops = {op.index: op for op in graph.model.ops}
    parts = _parts(graph.model)
    nodes = tuple(_known(node, graph.model, ops[node.op], library, abi, macs) for node in graph.builtins)
    return replace(graph, nodes=nodes, parts=parts)


def with_calls(graph: RowGraph) -> RowGraph:
    """If a builtin operator runs subgraphs, set the operator's scratch to the bytes of the subgraphs."""
    calling = {op.index: nbytes for op in graph.model.ops if (nbytes := called_bytes(graph.model, op))}
    nodes = (
        replace(n, scratch=calling[n.op]) if isinstance(n, BuiltinNode) and n.op in calling else n for n in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes)) if calling else graph


def multiply_accumulates(graph: Graph, op: Op) -> int:
    """Return the number of multiply-accumulates of an operator with weights, or 0 for any other operator."""
    if op.type in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
        out, weights = graph.tensors[op.outputs[0]], graph.tensors[op.inputs[1]]
        return out.elements * (weights.elements // max(1, out.shape[-1]))
    if op.type == "TRANSPOSE_CONV":
        weights, inputs = graph.tensors[op.inputs[1]], graph.tensors[op.inputs[2]]
        return inputs.elements * (weights.elements // max(1, inputs.shape[-1]))
    return 0


def _known(node: BuiltinNode, graph: Graph, op: Op, library: Library, abi: Abi, macs: Mapping[int, int]) -> BuiltinNode:
    there = node_of(graph, op)
    steps = library.rows.get(kernel_name(op), UNKNOWN).prepare(there, abi)
    return replace(
        node,
        macs=macs.get(op.index, 0),
        scratch=called_bytes(graph, op) + sum(-(-s.nbytes // 16) * 16 for s in steps if isinstance(s, Scratch)),
        orders=access_order.orders(library.orders, op, there),
        copies=op.type in access_order.COPIES,
    )


def _parts(graph: Graph) -> dict[TensorId, StoredIn]:
    """Return the places of tensors that can be stored inside other tensors. If two operators require different places
    for a tensor, the first operator decides.
    """
    found: dict[TensorId, StoredIn] = {}
    for op in graph.ops:
        wanted = dict(access_order.parts(graph, op))
        roots = {t: _resolved(found, StoredIn(t)).storage for t in wanted}
        storages = {_resolved(found, part).storage for part in wanted.values()}
        alone = len({*roots.values()} | storages) == len(roots) + len(storages)
        movable = all(
            graph.tensors[root].nbytes == graph.tensors[t].nbytes > 0 and root not in graph.inputs
            for t, root in roots.items()
        )
        if alone and movable:
            found.update({roots[t]: part for t, part in wanted.items()})
    return {t: _resolved(found, part) for t, part in found.items()}


def _resolved(found: Mapping[TensorId, StoredIn], part: StoredIn) -> StoredIn:
    first = part.first
    while (above := found.get(part.storage)) is not None:
        part, first = above, first + above.first
    return StoredIn(part.storage, first)


def tail(graph: Graph, library: Library, abi: Abi) -> int:
    """Return the number of persistent bytes of tensors, operators and kernels, without alignment gaps."""
    used = {t for op in graph.ops for t in (*op.inputs, *op.outputs) if t >= 0}.union(graph.inputs, graph.outputs)
    total = size_of("TfLiteEvalTensor", abi) * len(used) + size_of("NodeAndRegistration", abi) * len(graph.ops)
    for op in graph.ops:
        kernel = library.rows.get(kernel_name(op), UNKNOWN)
        total += sum(size_of(name, abi) for name in (kernel.params, kernel.state) if name)
        steps = kernel.prepare(node_of(graph, op), abi)
        total += sum(-(-s.nbytes // 16) * 16 for s in steps if isinstance(s, Persistent))
    return total
