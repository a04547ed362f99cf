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


def row_ops(net: Net, *outputs: int) -> list[RowOp]:
    result = supports(net, *outputs)
    assert all(isinstance(s, RowOp | View) for s in result), result
    return [s for s in result if isinstance(s, RowOp)]


def test_same_padding_puts_the_odd_one_at_the_end() -> None:
    net = Net()
    (op,) = row_ops(net, net.conv2d(net.input((1, 8, 7, 2)), 3, kernel=(3, 4), stride=(2, 3)))
    assert op.window == Window(3, 4, 2, 3, pad_top=0, pad_left=1)
    assert (op.reads, op.writes) == ((Rows(8, 7, 2),), Rows(4, 3, 3))
    assert op.macs == 4 * 3 * 3 * 3 * 4 * 2
    assert op.weights is not None
    assert op.weights.shape == (3, 3, 4, 2)


def test_depthwise_layout_and_macs() -> None:
    net = Net()
    (op,) = row_ops(net, net.depthwise_conv2d(net.input((1, 4, 4, 2)), multiplier=3))
    assert op.weights is not None
    assert op.weights.shape == (3, 3, 6)
    assert op.macs == 4 * 4 * 6 * 9
    assert op.multipliers is not None
    assert len(op.multipliers) == 6


def test_a_one_dimensional_convolution_is_seen_as_rows() -> None:
    net = Net()
    (op,) = row_ops(net, net.conv2d(net.input((1, 1, 20, 4)), 5, kernel=(1, 3), stride=(1, 2), dilation=(1, 2)))
    assert op.window == Window(3, 1, 2, 1, 2, 1, pad_top=1)
    assert (op.reads, op.writes) == ((Rows(20, 1, 4),), Rows(10, 1, 5))


def test_a_convolution_down_to_one_row_writes_one_row() -> None:
    net = Net()
    x = net.conv2d(net.input((1, 6, 9, 2)), 4, kernel=(6, 2), padding="VALID")
    first, relu, mean = row_ops(net, net.mean(net.unary("RELU", x), (1, 2)))
    assert first.writes == Rows(1, 8, 4)
    assert (relu.reads, relu.writes) == ((first.writes,), first.writes)  # in the rows of its producer
    assert mean.window == Window(1, 8, 1, 8)


def test_a_reader_may_see_other_rows_than_the_producer() -> None:
    net = Net()
    x = net.conv2d(net.input((1, 6, 9, 2)), 4, kernel=(6, 2), padding="VALID")
    first, second = row_ops(net, net.conv2d(x, 3, kernel=(1, 3)))
    assert first.writes == Rows(1, 8, 4)
    assert second.reads == (Rows(8, 1, 4),)


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


@pytest.mark.parametrize(("shape", "reads"), [((5, 8), Rows(5, 1, 8)), ((1, 2, 5, 4), Rows(5, 1, 8))])
def test_a_batch_of_vectors_is_pointwise(shape: tuple[int, ...], reads: Rows) -> None:
    net = Net()
    (op,) = row_ops(net, net.fully_connected(net.input(shape), 3, batches=5))
    assert (op.reads, op.writes, op.window) == ((reads,), Rows(5, 1, 3), Window())


@pytest.mark.parametrize(
    ("shape", "axes", "window", "writes"),
    [
        ((1, 4, 6, 2), (1,), Window(4, 1, 4, 1), Rows(1, 6, 2)),
        ((1, 4, 6, 2), (2,), Window(1, 6, 1, 6), Rows(4, 1, 2)),
        ((1, 4, 6, 2), (1, 2), Window(4, 6, 4, 6), Rows(1, 1, 2)),
        ((1, 1, 6, 2), (2,), Window(6, 1, 6, 1), Rows(1, 1, 2)),
        ((1, 6, 2), (1,), Window(6, 1, 6, 1), Rows(1, 1, 2)),
        ((6, 2), (0,), Window(6, 1, 6, 1), Rows(1, 1, 2)),
    ],
)
def test_mean_is_a_window(shape: tuple[int, ...], axes: tuple[int, ...], window: Window, writes: Rows) -> None:
    for keep in (True, False):
        net = Net()
        (op,) = row_ops(net, net.mean(net.input(shape), axes, keep=keep))
        assert (op.window, op.writes, op.macs) == (window, writes, 0)


def test_relu6_ignores_the_output_scale() -> None:
    net = Net()
    (op,) = row_ops(net, net.unary("RELU6", net.input((1, 4), (0.1, -20)), out=(0.7, 11)))
    assert op.weights is not None and op.weights.tolist() == [min(max(x, -20), 40) for x in range(-128, 128)]


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


def test_nothing_real_raises(real_model: Path) -> None:
    graph = canonicalise(read(real_model.read_bytes()).graph).graph
    assert to_row_ops(graph).keys() == {op.index for op in graph.ops}
