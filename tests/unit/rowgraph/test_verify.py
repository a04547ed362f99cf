"""The verifier accepts the graph after each step of a conversion, and each of its rules finds a broken graph."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from models import Net

from tflm_memopt.convert import pipeline
from tflm_memopt.errors import PlanError
from tflm_memopt.model.reader import read
from tflm_memopt.rowgraph.graph import RowGraph
from tflm_memopt.rowgraph.verify import RULES, verify

Damage = Callable[[RowGraph], RowGraph]


def sound() -> RowGraph:
    net = Net()
    x = net.conv2d(net.input((1, 8, 8, 4)), 8)
    y = net.conv2d(net.add_n(x, x), 4)
    annotated = pipeline.annotate(read(net.model(net.conv2d(y, 4))).graph)
    graph = pipeline.find_regions(annotated)
    assert graph is not None and len(graph.regions) == 2 and len(graph.builtins) == 1
    return graph


def last_region(graph: RowGraph, **changed: object) -> RowGraph:
    region = graph.regions[-1]
    nodes = tuple(replace(n, **changed) if n is region else n for n in graph.nodes)  # type: ignore[arg-type]
    return replace(graph, nodes=nodes)


def last_op(graph: RowGraph, **changed: object) -> RowGraph:
    key = graph.regions[-1].ops[-1]
    return replace(graph, ops={**graph.ops, key: replace(graph.ops[key], **changed)})  # type: ignore[arg-type]


def without_first_tensor(graph: RowGraph) -> RowGraph:
    made = graph.ops[graph.regions[-1].ops[0]].output
    tensors = {t: tensor for t, tensor in graph.model.tensors.items() if t != made}
    return replace(graph, model=replace(graph.model, tensors=tensors))


def narrower_read(graph: RowGraph) -> RowGraph:
    (rows,) = graph.ops[graph.regions[-1].ops[-1]].reads
    return last_op(graph, reads=(replace(rows, c=rows.c - 1),))


DAMAGES: dict[str, Damage] = {
    "every operator is in one node": lambda g: replace(g, nodes=(*g.nodes, g.nodes[-1])),
    "every tensor is in the graph": without_first_tensor,
    "every tensor has one writer": lambda g: last_op(g, output=g.model.inputs[0]),
    "tensors are written before they are read": lambda g: replace(g, nodes=g.nodes[::-1]),
    "a reader sees as many bytes as the writer makes": narrower_read,
    "a region's inputs are what its operators read, and its outputs are what others read": lambda g: last_region(
        g, outputs=()
    ),
}


def test_every_rule_has_its_damage() -> None:
    assert list(DAMAGES) == list(RULES)


@pytest.mark.parametrize("rule", DAMAGES)
def test_what_breaks_a_rule_is_named(rule: str) -> None:
    graph = sound()
    verify(graph, "nothing")
    with pytest.raises(PlanError) as error:
        verify(DAMAGES[rule](graph), "a step")
    assert error.value.what == f"after a step: {rule}" and error.value.where
