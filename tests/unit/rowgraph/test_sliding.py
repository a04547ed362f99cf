"""Test which rows each layer computes and keeps if only some input rows are new."""

from collections.abc import Callable

import pytest
from models import Net

import tflm_memopt
from tflm_memopt.convert import pipeline
from tflm_memopt.errors import UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rowgraph.graph import tensor_sizes
from tflm_memopt.rowgraph.rematerialisation import choices
from tflm_memopt.rowgraph.sliding import with_sliding


def chain(*, height: int = 20, stride: int = 1) -> Net:
    net = Net()
    x = net.conv2d(net.input((1, height, 1, 4)), 8, kernel=(3, 1), stride=(stride, 1), padding="VALID")
    net.depthwise_conv2d(net.unary("RELU", x, out=net.affine(x)), kernel=(5, 1), padding="VALID")
    return net


def last(net: Net) -> int:
    return int(net.graph.operators[-1].outputs[0])


def slid(model: bytes, rows: int) -> list[RowOp]:
    annotated, _ = with_sliding(pipeline.annotate(read(model).graph), rows)
    return [s for op in annotated.graph.ops if isinstance(s := annotated.support[op.index], RowOp)]


def kept(model: bytes, rows: int) -> list[int]:
    return [op.state_write.rows.h for op in slid(model, rows) if op.state_write]


def test_rows_that_a_state_keeps_are_not_computed_twice() -> None:
    net = Net()
    x = net.conv2d(net.conv2d(net.input((1, 12, 4, 1)), 2), 8)
    x = net.conv2d(net.conv2d(x, 8, kernel=(2, 3), padding="VALID"), 4, kernel=(4, 2), padding="VALID")
    annotated, _ = with_sliding(pipeline.annotate(read(net.model(net.fully_connected(x, 2))).graph), 1)
    graph = pipeline.find_regions(annotated, fold=False)
    assert graph is not None
    assert [choice.rematerialisations for choice in choices(graph, tensor_sizes(graph))] == [()]


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_each_layer_makes_new_rows_alone_and_keeps_what_its_kernel_reaches_back_to(rows: int) -> None:
    net = chain()
    model = net.model(net.mean(last(net), (1, 2)))
    made = [op.writes.h for op in slid(model, rows) if not op.state_write]
    assert made[:3] == [rows, rows, rows]
    assert kept(model, rows)[:2] == [2, 4]


def padded(height: int = 40, layers: int = 2) -> bytes:
    net = Net()
    x = net.input((1, height, 1, 4))
    for _ in range(layers):
        x = net.conv2d(x, 8, kernel=(3, 1))
    return net.model(net.mean(x, (1, 2)))


def test_rows_that_depend_on_padding_are_made_again() -> None:
    made = [op.writes.h for op in slid(padded(), 1) if op.name == "CONV_2D"]
    assert made == [1, 1, 3, 2, 1, 2]
    assert kept(padded(), 1) == [39, 2, 35]
    annotated = pipeline.annotate(read(padded()).graph)
    assert with_sliding(annotated, 1)[0].macs < 0.2 * annotated.macs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strides", "padding", "least"), [((2, 3), "VALID", 6), ((2, 2, 2), "VALID", 8), ((2, 1, 3), "SAME", 6)]
)
def test_the_least_rows_that_all_strides_divide_are_said(strides: tuple[int, ...], padding: str, least: int) -> None:
    net = Net()
    x = net.input((1, 60, 1, 4))
    for stride in strides:
        x = net.conv2d(x, 8, kernel=(3, 1), stride=(stride, 1), padding=padding)
    model = net.model(net.fully_connected(x, 3))
    for rows in (1, 2, least - 1, least + 1):
        with pytest.raises(UsageError) as error:
            slid(model, rows)
        assert (error.value.code, error.value.hint) == ("unsupported_input", f"--input sliding:{least}")
    result = tflm_memopt.optimize(model, input=f"sliding:{least}", effort=0.05, seconds=0.05)
    assert result.report.overhead < 1
    assert tflm_memopt.verify(model, result.model, runs=2).bit_exact


def two_inputs() -> bytes:
    net = Net()
    return net.model(net.add(net.input((1, 8, 1, 4)), net.input((1, 8, 1, 4))))


def builtin_input() -> bytes:
    net = Net()
    x = net.input((1, 8, 1, 4))
    return net.model(net.conv2d(net.add_n(x, x), 4))


def strided() -> bytes:
    net = chain(stride=2)
    return net.model(net.fully_connected(last(net), 3))


@pytest.mark.parametrize(
    ("make", "rows", "code", "hint"),
    [
        (two_inputs, 1, "unsupported_input", "--input arena"),
        (builtin_input, 1, "unsupported_input", "--input arena"),
        (strided, 1, "unsupported_input", "--input sliding:2"),
        (strided, 3, "unsupported_input", "--input sliding:2"),
        (strided, 20, "unsupported_input", "--input sliding:ROWS with 1 to 19"),
    ],
)
def test_what_cannot_slide_is_said(make: Callable[[], bytes], rows: int, code: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        tflm_memopt.optimize(make(), input=f"sliding:{rows}")
    assert (error.value.code, error.value.hint) == (code, hint)
