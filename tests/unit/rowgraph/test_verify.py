"""The row graph's verifier: the graphs of all steps pass, and each rule finds what breaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from models import Net

from tflm_memopt.convert import pipeline
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import read
from tflm_memopt.rowgraph.graph import Kept, Partition, Region
from tflm_memopt.rowgraph.verify import RULES, verify

Damage = Callable[[Graph, Partition], tuple[Graph, Partition]]


def sound() -> tuple[Graph, Partition]:
    """Two regions with a builtin operator between them."""
    net = Net()
    x = net.conv2d(net.input((1, 8, 8, 4)), 8)
    y = net.conv2d(net.add_n(x, x), 4)
    understood = pipeline.understand(read(net.model(net.conv2d(y, 4))).graph)
    parts = pipeline.find_regions(understood)
    assert parts is not None and len(parts.regions) == 2 and len(parts.kept) == 1
    return understood.graph, parts


def last_region(parts: Partition, **changed: object) -> Partition:
    region = parts.regions[-1]
    nodes = tuple(replace(n, **changed) if n is region else n for n in parts.nodes)  # type: ignore[arg-type]
    return replace(parts, nodes=nodes)


def last_op(parts: Partition, **changed: object) -> Partition:
    key = parts.regions[-1].ops[-1]
    return replace(parts, ops={**parts.ops, key: replace(parts.ops[key], **changed)})  # type: ignore[arg-type]


def without_first_tensor(graph: Graph, parts: Partition) -> tuple[Graph, Partition]:
    made = parts.ops[parts.regions[-1].ops[0]].output
    return replace(graph, tensors={t: x for t, x in graph.tensors.items() if t != made}), parts


def narrower_read(graph: Graph, parts: Partition) -> tuple[Graph, Partition]:
    (rows,) = parts.ops[parts.regions[-1].ops[-1]].reads
    return graph, last_op(parts, reads=(replace(rows, c=rows.c - 1),))


DAMAGES: dict[str, Damage] = {
    "every operator is in one node": lambda g, p: (g, replace(p, nodes=(*p.nodes, p.nodes[-1]))),
    "every tensor is in the graph": without_first_tensor,
    "every tensor has one writer": lambda g, p: (g, last_op(p, output=g.inputs[0])),
    "tensors are written before they are read": lambda g, p: (g, replace(p, nodes=p.nodes[::-1])),
    "a reader sees as many bytes as the writer makes": narrower_read,
    "a region takes and leaves what its operators read and others want": lambda g, p: (g, last_region(p, outputs=())),
}


def test_every_rule_has_its_damage() -> None:
    assert list(DAMAGES) == list(RULES)


@pytest.mark.parametrize("rule", DAMAGES)
def test_what_breaks_a_rule_is_named(rule: str) -> None:
    graph, parts = sound()
    verify(graph, parts, "nothing")
    with pytest.raises(PlanError) as error:
        verify(*DAMAGES[rule](graph, parts), "a step")
    assert error.value.code == "row_graph" and error.value.what == f"after a step: {rule}" and error.value.where


def test_an_operator_without_region_and_a_region_without_rows() -> None:
    graph, parts = sound()
    first, *rest = parts.ops
    with pytest.raises(PlanError) as error:
        verify(graph, replace(parts, ops={i: parts.ops[i] for i in rest}), "a step")
    assert error.value.where == f"operator {first} of a region has no rows"
    fewer = replace(parts, nodes=tuple(n for n in parts.nodes if isinstance(n, Kept) or n is not parts.nodes[0]))
    with pytest.raises(PlanError) as error:
        verify(graph, fewer, "a step")
    assert isinstance(parts.nodes[0], Region) and error.value.where == f"operator {first} has no region"
