"""No path in the graph leaves a converted part and enters it again."""

import random
from dataclasses import replace

from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from tflm_memopt.model.graph import VIEW, Graph, Op, Tensor, TensorId
from tflm_memopt.model.variables import READ, is_stateful
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.ops.rowop import RowOp, Rows
from tflm_memopt.rowgraph.graph import BuiltinNode, Region, RowGraph
from tflm_memopt.rowgraph.regions import partition
from tflm_memopt.rowgraph.supported import Support, View

REFUSED = Unsupported("test", "because", "", "")
ROWS = Rows(4, 2, 2)
OURS, BUILTIN, RENAME, STATE = "ours", "builtin", "view", READ


def row_op(index: int, inputs: tuple[TensorId, ...], output: TensorId) -> RowOp:
    return RowOp(
        Kind.ADD, "ADD", (index,), inputs, output, (ROWS,) * len(inputs), ROWS, (0,) * len(inputs), 0
    )  # fmt: skip


def graph_of(ops: list[tuple[str, tuple[TensorId, ...]]], *outputs: TensorId) -> tuple[Graph, dict[int, Support]]:
    """Tensor 0 is the input of the graph, and operator `i` writes tensor `i + 1`."""
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


@settings(max_examples=examples(150), derandomize=True)
@given(st.integers(0, 1 << 32))
def test_operators_with_state_keep_their_order(seed: int) -> None:
    graph, support = random_graph(seed)
    kept = [node.op for node in partition(graph, support).nodes if isinstance(node, BuiltinNode)]
    stateful = [i for i in kept if is_stateful(graph, graph.ops[i])]
    assert stateful == sorted(stateful)


def test_an_operator_with_state_waits_for_the_one_before() -> None:
    ops = [(BUILTIN, (0,)), (OURS, (1,)), (STATE, (2,)), (STATE, (0,)), (BUILTIN, (0,)), (OURS, (5, 2))]
    kept = [node.op for node in partition(*graph_of(ops)).nodes if isinstance(node, BuiltinNode)]
    assert [i for i in kept if ops[i][0] == STATE] == [2, 3]
    assert sorted(region.ops for region in regions(partition(*graph_of(ops)))) == [(1, 5)]


def test_a_region_with_too_many_outputs_becomes_several() -> None:
    found = regions(partition(*graph_of([(OURS, (0,)), *[(OURS, (1,))] * 40])))
    assert len(found) == 3
    assert [i for region in found for i in region.ops] == list(range(41))
