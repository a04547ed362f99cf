"""Test sliding windows: each layer's new rows, the kept rows, and layers that cannot slide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from conftest import thinned
from models import Net

import tflm_memopt
from tflm_memopt.convert import pipeline
from tflm_memopt.errors import PlanError, UsageError
from tflm_memopt.format.limits import MAX_INPUTS, MAX_KERNEL_H
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.planner import Options, plan
from tflm_memopt.rowgraph.inputs import InputMode
from tflm_memopt.rowgraph.sliding import with_sliding


def chain(*, height: int = 20, stride: int = 1) -> Net:
    """Three layers without padding in time: rows 20 -> 18 (9) -> 18 -> 14."""
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
    """Rows of each rolling buffer, in order."""
    return [op.keeps.rows.h for op in slid(model, rows) if op.keeps]


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_each_layer_makes_new_rows_alone_and_keeps_what_its_kernel_reaches_back_to(rows: int) -> None:
    net = chain()
    model = net.model(net.mean(last(net), (1, 2)))
    made = [op.writes.h for op in slid(model, rows) if not op.keeps]
    assert made[:3] == [rows, rows, rows]
    assert kept(model, rows)[:2] == [2, 4]


def test_a_layer_over_all_rows_keeps_the_others() -> None:
    net = chain()
    assert kept(net.model(net.fully_connected(last(net), 3)), 2) == [2, 4, 12]


def test_a_stride_keeps_what_is_left_over() -> None:
    net = chain(height=20, stride=2)  # rows 0..18 are read; row 19 waits
    assert kept(net.model(net.fully_connected(last(net), 3)), 2) == [2, 4, 4]


def test_what_pads_in_time_gets_the_window() -> None:
    net = Net()
    x = net.conv2d(net.input((1, 12, 2, 3)), 4, kernel=(3, 1), padding="VALID")
    model = net.model(net.conv2d(x, 4, kernel=(3, 1)))
    first, joined, padded = [op for op in slid(model, 3) if not op.keeps]
    assert (first.writes.h, joined.writes.h, padded.writes.h) == (3, 10, 10)
    assert kept(model, 3) == [2, 7]


@pytest.mark.parametrize("height", [MAX_KERNEL_H, MAX_KERNEL_H + 1])
def test_a_reduction_of_more_rows_than_a_kernel_takes_gets_the_window(height: int) -> None:
    """A reduction of all rows may take them one by one; one that includes older rows needs a window."""
    net = Net()
    x = net.conv2d(net.input((1, height, 1, 4)), 8)
    model = net.model(net.pool(x, kind="MAX_POOL_2D", kernel=(height, 1), stride=(1, 1)))
    joined = [op for op in slid(model, 1) if op.writes.h == height]
    assert len(joined) == (height > MAX_KERNEL_H)
    result = tflm_memopt.optimize(model, input="sliding:1", seconds=0.05)
    assert tflm_memopt.verify(model, result.model, runs=2).bit_exact


def summed(net: Net, rows: int) -> list[tuple[int, ...]]:
    """Rows of the operands of running sums: new rows, kept rows, rows of padding, and sums."""
    model = net.model(last(net))
    return [tuple(rows.h for rows in op.reads) for op in slid(model, rows) if op.kind is Kind.SLIDING_SUM]


@pytest.mark.parametrize("kind", ["mean", "columns", "pool", "total"])
def test_sums_run_along(kind: str) -> None:
    """For every kind of mean, over any number of rows, over all columns or single ones."""
    net = Net()
    x = net.conv2d(net.input((1, 80, 3, 4)), 8, kernel=(3, 1), padding="VALID")
    if kind == "pool":
        net.pool(x, kernel=(78, 3), stride=(1, 1))
    elif kind == "total":
        net.sum(x, (1, 2))
    else:
        net.mean(x, (1,) if kind == "columns" else (1, 2))
    assert summed(net, 2) == [(2, 76, 1)]


def test_sums_of_rows_that_depend_on_padding_are_made_anew() -> None:
    net = Net()
    x = net.input((1, 40, 1, 4))
    for _ in range(2):
        x = net.conv2d(x, 8, kernel=(3, 1))
    net.mean(x, (1, 2))
    assert summed(net, 1) == [(1, 35, 4, 1)]


@pytest.mark.parametrize(("height", "rows"), [(20, 10), (80, 32)])
def test_sums_that_would_not_save_additions_do_not_run_along(height: int, rows: int) -> None:
    """As many rows leave as stay, or more than a firing reads at once."""
    net = Net()
    net.mean(net.conv2d(net.input((1, height, 1, 4)), 8), (1, 2))
    assert not summed(net, rows)


@pytest.mark.parametrize("readers", thinned([5, 8, 3, 4], 1))
def test_what_keeps_a_tensor_waits_for_all_that_read_it(readers: int) -> None:
    net = Net()
    x = net.conv2d(net.input((1, 20, 1, 4)), 8)
    ys = [net.conv2d(x, 4, kernel=(3, 1), padding="VALID") for _ in range(readers)]
    model = net.model(*(net.mean(y, (1, 2)) for y in ys))
    made = slid(model, 2)
    assert {op.writes.h for op in made if op.name == "CONV_2D"} == {2}
    assert max(len(op.inputs) for op in made if op.keeps) <= MAX_INPUTS
    result = tflm_memopt.optimize(model, input="sliding:2", effort="low")
    assert tflm_memopt.verify(model, result.model, runs=2).bit_exact


def padded(height: int = 40, layers: int = 2) -> bytes:
    """Layers that pad in time, and one that reads all rows."""
    net = Net()
    x = net.input((1, height, 1, 4))
    for _ in range(layers):
        x = net.conv2d(x, 8, kernel=(3, 1))
    return net.model(net.mean(x, (1, 2)))


def test_rows_that_depend_on_padding_are_made_again() -> None:
    """At the last layer, two rows at each end depend on padding; for the lower two, the first layer makes three more
    rows.
    """
    made = [op.writes.h for op in slid(padded(), 1) if op.name == "CONV_2D"]
    assert made == [1, 1, 3, 2, 1, 2]
    assert kept(padded(), 1) == [39, 2, 35]  # for the first rows, for the second layer, for the mean
    annotated = pipeline.annotate(read(padded()).graph)
    assert with_sliding(annotated, 1)[0].macs < 0.2 * annotated.macs


def residual() -> bytes:
    """A branch that pads in time and one without layers. The first has one more row at each edge that depends on
    padding.
    """
    net = Net()
    x = net.conv2d(net.input((1, 40, 1, 4)), 8, kernel=(3, 1))
    return net.model(net.mean(net.add(net.conv2d(x, 8, kernel=(3, 1)), x), (1, 2)))


def test_branches_meet_where_the_one_with_more_edges_is() -> None:
    """One row comes from the last step; below it are two, one of them from padding. None above is made twice."""
    ops = slid(residual(), 1)
    made = [(op.writes.h, op.window.pad_top) for op in ops if op.name == "MAX_POOL_2D"]
    assert made == [(1, 1), (2, 0)]
    assert [op.writes.h for op in ops if op.name == "ADD"] == [1, 2, 2]
    assert [op.writes.h for op in ops if op.name == "CONV_2D"] == [1, 1, 3, 2, 1, 2]
    annotated = pipeline.annotate(read(residual()).graph)
    assert with_sliding(annotated, 1)[0].macs < 0.2 * annotated.macs


def test_where_edges_are_all_nothing_slides() -> None:
    annotated = pipeline.annotate(read(padded(3, 1)).graph)
    assert with_sliding(annotated, 1)[0].macs == annotated.macs


def test_a_stride_that_new_rows_lack_is_said_where_padding_slides() -> None:
    net = Net()
    x = net.conv2d(net.input((1, 40, 1, 4)), 8, kernel=(3, 1), stride=(2, 1))
    model = net.model(net.mean(x, (1, 2)))
    with pytest.raises(UsageError) as error:
        slid(model, 1)
    assert (error.value.code, error.value.hint) == ("unsupported_input", "--input sliding:2")


@pytest.mark.parametrize(
    ("strides", "padding", "least"),
    [((2, 3), "VALID", 6), ((2, 2, 2), "VALID", 8), ((2, 3), "SAME", 6), ((2, 1, 3), "SAME", 6)],
)
def test_the_least_rows_that_all_strides_divide_are_said(strides: tuple[int, ...], padding: str, least: int) -> None:
    """The product of all strides is reported for any request: fewer rows do not slide, and these do."""
    net = Net()
    x = net.input((1, 90, 1, 4))
    for stride in strides:
        x = net.conv2d(x, 8, kernel=(3, 1), stride=(stride, 1), padding=padding)
    model = net.model(net.fully_connected(x, 3))
    for rows in (1, 2, least - 1, least + 1):
        with pytest.raises(UsageError) as error:
            slid(model, rows)
        assert (error.value.code, error.value.hint) == ("unsupported_input", f"--input sliding:{least}")
    result = tflm_memopt.optimize(model, input=f"sliding:{least}", seconds=0.05)
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


def test_what_is_written_says_how_many_steps_fill_it() -> None:
    result = tflm_memopt.optimize(strided(), input="sliding:2")
    assert result.report.window is not None and result.report.window.inferences == 10
    files = result.files("cpp,c")
    assert b"#define MODEL_STEPS 10u /* invocations that fill the window */" in files["model.h"]


def test_the_checker_asks_for_the_window() -> None:
    found = pipeline.row_graph(pipeline.annotate(read(strided()).graph), _options())
    assert found is not None
    planned = plan(found, _options())
    with pytest.raises(PlanError) as error:
        pipeline.checked(found, replace(planned, states=planned.states[:-1]))
    assert "the window is full after" in str(error.value)


def _options() -> Options:
    return Options(seconds=0.05, input=InputMode("sliding", 2))


def test_f_is_that_of_a_step() -> None:
    net = chain()
    model = net.model(net.fully_connected(last(net), 3))
    whole, step = (tflm_memopt.optimize(model, input=where).report for where in ("arena", "sliding"))
    assert step.macs.original == whole.macs.original
    assert step.macs.rewritten == 3 * 4 * 8 + 5 * 8 + 14 * 8 * 3
    assert np.isclose(step.overhead, step.macs.rewritten / step.macs.original)
