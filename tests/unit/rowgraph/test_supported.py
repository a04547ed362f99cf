"""Test row operators: geometry as planner and executor use it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import AUTOENCODER, FLOAT_IO, KEYWORDS, MOBILENET, RESNET, WINDOW
from models import Net

from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp, Rows, Window
from tflm_memopt.rewrite.canonicalise import canonicalise
from tflm_memopt.rowgraph.supported import Support, View, to_row_ops


def supports(net: Net, *outputs: int) -> list[Support]:
    return list(to_row_ops(canonicalise(read(net.model(*outputs)).graph).graph).values())


def test_fully_connected_sees_through_views() -> None:
    net = Net()
    x = net.conv2d(net.input((1, 4, 5, 2)), 3)
    result = supports(net, net.fully_connected(net.reshape(net.reshape(x, (1, 20, 3)), (1, 60)), 7))
    conv, view, second_view, dense = result
    assert isinstance(conv, RowOp)
    assert isinstance(dense, RowOp)
    assert view == View(output=5, storage=conv.output)
    assert isinstance(second_view, View)
    assert second_view.storage == conv.output
    assert dense.inputs == (conv.output,)
    assert (dense.window, dense.reads, dense.writes) == (Window(4, 5), (Rows(4, 5, 3),), Rows(1, 1, 7))
    assert dense.kind is Kind.CONV
    assert dense.name == "FULLY_CONNECTED"
    assert dense.reducible
    assert dense.macs == 60 * 7


@pytest.mark.parametrize(
    ("path", "macs"),
    [
        (KEYWORDS, 1_608_576),
        (RESNET, 3_236_160),
        (MOBILENET, 1_743_504),
        (FLOAT_IO, 1_702_144),
        (AUTOENCODER, 29_952),
        (WINDOW, 139_840),
    ],
    ids=lambda p: getattr(p, "stem", ""),
)
def test_trained_models_run_in_rows(path: Path, macs: int) -> None:
    graph = canonicalise(read(path.read_bytes()).graph).graph
    support = to_row_ops(graph)
    assert [op.type for op in graph.ops if not isinstance(support[op.index], RowOp | View)] == []
    assert sum(s.macs for s in support.values() if isinstance(s, RowOp)) == macs
