"""Regions of converted operators are convex, and as large as possible in simple cases."""

from __future__ import annotations

import random
from dataclasses import replace

import networkx as nx
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from tflm_memopt.format.limits import MAX_IO
from tflm_memopt.model.graph import VIEW, Graph, Op, Tensor, TensorId
from tflm_memopt.model.variables import STATEFUL
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.ops.rowop import RowOp, Rows
from tflm_memopt.rowgraph.graph import BuiltinNode, Region, RowGraph
from tflm_memopt.rowgraph.regions import partition
from tflm_memopt.rowgraph.supported import Support, View

REFUSED = Unsupported("test", "because", "", "")
ROWS = Rows(4, 2, 2)
OURS, BUILTIN, RENAME, STATE = "ours", "builtin", "view", STATEFUL[1]


def row_op(index: int, inputs: tuple[TensorId, ...], output: TensorId) -> RowOp:
    return RowOp(
        Kind.ADD, "ADD", (index,), inputs, output, (ROWS,) * len(inputs), ROWS, (0,) * len(inputs), 0
    )  # fmt: skip


def graph_of(ops: list[tuple[str, tuple[TensorId, ...]]], *outputs: TensorId) -> tuple[Graph, dict[int, Support]]:
    """Build a graph of operators (kind, inputs). Tensor 0 is the input; operator i makes tensor i + 1."""
    tensors = {t: Tensor(t, f"t{t}", (1, 4, 2, 2), "INT8") for t in range(len(ops) + 1)}
    graph_ops, support, storage = [], {}, {t: t for t in tensors}
    for i, (kind, inputs) in enumerate(ops):
        graph_ops.append(Op(i, VIEW if kind == RENAME else kind, inputs, (i + 1,)))
        if kind == RENAME:
            storage[i + 1] = storage[inputs[0]]
        held = tuple(storage[t] for t in inputs)
        ours = {OURS: row_op(i, held, i + 1), RENAME: View(i + 1, storage[inputs[0]])}
        support[i] = ours.get(kind, REFUSED)
    read_ones = {t for _, inputs in ops for t in inputs}
    wanted = outputs or tuple(i + 1 for i in range(len(ops)) if i + 1 not in read_ones)
    return Graph(tensors, tuple(graph_ops), (0,), wanted), support


def random_graph(seed: int) -> tuple[Graph, dict[int, Support]]:
    rng = random.Random(seed)
    ops = []
    for i in range(rng.randint(1, 14)):
        kind = rng.choice([OURS, OURS, OURS, BUILTIN, RENAME, STATE])
        count = 1 if kind == RENAME else rng.choice([1, 2])
        ops.append((kind, tuple(rng.randint(max(0, i - 4), i) for _ in range(count))))
    graph, support = graph_of(ops)
    extra = tuple(t for t in range(1, len(ops) + 1) if rng.random() < 0.1 and t not in graph.outputs)
    return replace(graph, outputs=graph.outputs + extra), support


def regions(parts: RowGraph) -> list[Region]:
    return [node for node in parts.nodes if isinstance(node, Region)]


def dependencies(graph: Graph) -> nx.DiGraph:
    result = nx.DiGraph()
    result.add_nodes_from(op.index for op in graph.ops)
    result.add_edges_from((a.index, b.index) for a in graph.ops for b in graph.ops if set(a.outputs) & set(b.inputs))
    return result


@settings(max_examples=examples(150), derandomize=True)
@given(st.integers(0, 1 << 32))
def test_no_path_leaves_a_region_and_comes_back(seed: int) -> None:
    graph, support = random_graph(seed)
    before = dependencies(graph)
    for region in regions(partition(graph, support)):
        inside = {*region.ops, *region.views}
        after = set().union(*(nx.descendants(before, i) for i in inside)) - inside
        assert not any(nx.descendants(before, i) & inside for i in after)


@settings(max_examples=examples(150), derandomize=True)
@given(st.integers(0, 1 << 32))
def test_every_node_finds_its_inputs_and_nothing_is_lost(seed: int) -> None:
    """Nodes are checked in the order in which the partition lists them, with the rewritten model's tensors."""
    graph, support = random_graph(seed)
    parts = partition(graph, support)
    there = set(graph.inputs)
    for node in parts.nodes:
        assert there.issuperset(node.inputs)
        assert not there.intersection(node.outputs)
        there.update(node.outputs)
    assert there.issuperset(graph.outputs)
    run = [i for node in parts.nodes for i in (node.ops if isinstance(node, Region) else (node.op,))]
    assert len(run) == len(set(run))
    builtin = {op.index for op in graph.ops if support[op.index] is REFUSED}
    assert builtin <= set(run)
    ours = {op.index for op in graph.ops if isinstance(support[op.index], RowOp)}
    dead = ours - set(run)
    needed = {
        i for op in graph.ops if support[op.index] is REFUSED for i in nx.ancestors(dependencies(graph), op.index)
    }
    assert not dead & needed


@settings(max_examples=examples(150), derandomize=True)
@given(st.integers(0, 1 << 32))
def test_operators_with_state_keep_their_order(seed: int) -> None:
    """No tensor connects operators with state, so nothing else fixes their order."""
    graph, support = random_graph(seed)
    kept = [node.op for node in partition(graph, support).nodes if isinstance(node, BuiltinNode)]
    stateful = [i for i in kept if graph.ops[i].type in STATEFUL]
    assert stateful == sorted(stateful)


@settings(max_examples=examples(100), derandomize=True)
@given(st.integers(0, 1 << 32))
def test_regions_read_and_write_what_their_operators_do(seed: int) -> None:
    graph, support = random_graph(seed)
    parts = partition(graph, support)
    for region in regions(parts):
        made = {parts.ops[i].output for i in region.ops}
        read_there = {t for i in region.ops for t in parts.ops[i].inputs}
        assert set(region.inputs) == read_there - made
        assert set(region.outputs) <= made
        assert len(region.inputs) + len(region.outputs) <= MAX_IO


def ops_of(ops: list[tuple[str, tuple[TensorId, ...]]], *outputs: TensorId) -> list[tuple[int, ...]]:
    return sorted(region.ops for region in regions(partition(*graph_of(ops, *outputs))))


def test_an_operator_with_state_waits_for_the_one_before() -> None:
    """Operator 2 waits for a region of operators that waits for operator 4. Operator 3 has a state and waits, although
    it could run before.
    """
    ops = [(BUILTIN, (0,)), (OURS, (1,)), (STATE, (2,)), (STATE, (0,)), (BUILTIN, (0,)), (OURS, (5, 2))]
    kept = [node.op for node in partition(*graph_of(ops)).nodes if isinstance(node, BuiltinNode)]
    assert [i for i in kept if ops[i][0] == STATE] == [2, 3]
    assert ops_of(ops) == [(1, 5)]


def test_a_region_with_too_many_outputs_becomes_several() -> None:
    found = regions(partition(*graph_of([(OURS, (0,)), *[(OURS, (1,))] * 40])))
    assert len(found) == 3
    assert [i for region in found for i in region.ops] == list(range(41))
