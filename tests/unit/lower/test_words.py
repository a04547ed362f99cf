"""Test Netron's text for a custom operator: groups, operators and rolling buffers. It does not enlarge the arena."""

from __future__ import annotations

import pytest
from flatbuffers import flexbuffers
from models import Net

import tflm_memopt
from tflm_memopt.lower.words import MOST_LINES
from tflm_memopt.model import writer
from tflm_memopt.model.reader import read
from tflm_memopt.tflm.arena import predict


@pytest.fixture(scope="module", params=["region", "group"])
def result(request: pytest.FixtureRequest) -> tflm_memopt.api.Optimized:
    net = Net(3)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2))
    model = net.model(net.conv2d(net.mean(net.depthwise_conv2d(x), (1, 2)), 4))
    return tflm_memopt.optimize(model, op_per=request.param)


def words(model: bytes) -> list[dict[str, str]]:
    (graph,) = read(model).tree.subgraphs
    return [flexbuffers.Loads(bytes(op.customOptions)) for op in graph.operators]


def test_words_cost_flash_only(result: tflm_memopt.api.Optimized) -> None:
    model = read(result.model)
    tree = writer.edit(model)
    for op in tree.subgraphs[0].operators:
        op.customOptions = None
    silent = writer.write(tree)
    assert 0 < len(result.model) - len(silent) < 1000
    assert predict(silent) == predict(result.model)


@pytest.mark.slow
def test_many_groups_are_counted() -> None:
    net = Net(3)
    x = net.input((1, 4))
    for _ in range(40):
        x = net.fully_connected(x, 4)
    optimized = tflm_memopt.optimize(net.model(x), without=("tiles",))
    (lines,) = words(optimized.model)
    assert len(optimized.report.groups) > MOST_LINES
    assert lines["more"] == f"{len(optimized.report.groups) - MOST_LINES} groups"
    assert len(lines) == MOST_LINES + 1
