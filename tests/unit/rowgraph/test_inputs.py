"""Test where the input may live, and the reasons for refusals."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net

import tflm_memopt
from tflm_memopt.convert import pipeline
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Group, Role
from tflm_memopt.rowgraph.inputs import IN_ARENA, InputMode, input_mode

SECONDS = 0.1


def chain(net: Net, x: int) -> int:
    return net.conv2d(net.conv2d(x, 6, kernel=(3, 3)), 4, kernel=(3, 3), stride=(2, 2))


def plain() -> bytes:
    net = Net(1)
    return net.model(chain(net, net.input((1, 12, 8, 3))))


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("arena", IN_ARENA),
        ("external", InputMode("external")),
        ("stream", InputMode("stream", 1)),
        ("stream:12", InputMode("stream", 12)),
    ],
)
def test_modes(text: str, mode: InputMode) -> None:
    assert input_mode(text) == mode
    assert input_mode(str(mode)) == mode


@pytest.mark.parametrize("text", ["", "cloud", "stream:", "stream:0", "stream:-1", "stream:x", "external:2", "arena:1"])
def test_no_modes(text: str) -> None:
    with pytest.raises(
        UsageError,
        match=r"unknown input place .*\n  try: --input .*arena, stream, stream:ROWS, sliding, sliding:ROWS, external",
    ):
        input_mode(text)


def two_inputs() -> bytes:
    net = Net(2)
    x, y = net.input((1, 8, 8, 2)), net.input((1, 8, 8, 2))
    return net.model(net.add(x, y))


def input_is_output() -> bytes:
    net = Net(3)
    x = net.input((1, 8, 8, 2))
    return net.model(net.conv2d(x, 2), x)


def index_input() -> bytes:
    net = Net(10)
    return net.model(net.gather(net.input((1, 12), None, dtype="INT32"), 9, 8))


def uint8_input() -> bytes:
    net = Net(11)
    x = net.unary("QUANTIZE", net.input((1, 12, 8, 3), (0.05, 125), dtype="UINT8"), out=(0.05, -3))
    return net.model(chain(net, x))


def float_input() -> bytes:
    net = Net(4)
    return net.model(chain(net, net.unary("QUANTIZE", net.input((1, 12, 8, 3), None, dtype="FLOAT32"))))


def int16_input() -> bytes:
    net = Net(9, activations="INT16")
    return net.model(net.conv2d(net.input((1, 12, 8, 3)), 3))


def float_builtin_first() -> bytes:
    net = Net(12)
    x = net.unary("SIN", net.input((1, 12, 8, 3), None, dtype="FLOAT32"), dtype="FLOAT32", out=None)
    return net.model(chain(net, net.unary("QUANTIZE", x)))


def builtin_first() -> bytes:
    net = Net(5)
    return net.model(chain(net, net.normalized(net.input((1, 12, 8, 3)))))


def builtin_beside() -> bytes:
    net = Net(6)
    x = net.input((1, 12, 8, 3))
    return net.model(chain(net, x), net.normalized(x))


def nothing_ours() -> bytes:
    net = Net(7)
    return net.model(net.normalized(net.input((1, 12, 8, 3))))


def two_regions() -> bytes:
    """The input is read again after a builtin operator, which is too late for a stream."""
    net = Net(8)
    x = net.input((1, 12, 8, 3))
    y = net.normalized(net.conv2d(x, 3))
    return net.model(net.add(y, x))


@pytest.mark.parametrize(
    ("model", "where", "what", "hint"),
    [
        (two_inputs, "stream", "streamed: the model has 2 inputs", "--input arena"),
        (two_inputs, "external", "external: the model has 2 inputs", "--input arena"),
        (input_is_output, "stream", "is also an output", "--input arena"),
        (index_input, "stream", "is INT32", "--input arena"),
        (float_builtin_first, "stream", "operator 0 SIN, which stays builtin, reads it whole", "--input arena"),
        (builtin_first, "stream", "operator 0 L2_NORMALIZATION, which stays builtin, reads it whole", "--input arena"),
        (builtin_beside, "external", "L2_NORMALIZATION, which stays builtin, reads it whole", "--input arena"),
        (nothing_ours, "stream", "no operator of the model can run row by row", "--input arena"),
        (two_regions, "stream", "builtin operators come between", "--input external, or --input arena"),
    ],
)
def test_inputs_that_have_to_stay(model: Callable[[], bytes], where: str, what: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        tflm_memopt.optimize(model(), input=where, seconds=SECONDS)
    assert what in refused.value.what
    assert refused.value.hint == hint


@pytest.mark.slow
def test_two_regions_read_an_external_frame() -> None:
    done = tflm_memopt.optimize(two_regions(), input="external", seconds=SECONDS)
    assert tflm_memopt.verify(two_regions(), done.model, runs=2).bit_exact


def test_an_operator_may_read_an_external_frame_twice() -> None:
    net = Net(3)
    x, twice = net.input((1, 24, 4, 1)), net.tensor((1, 48, 4, 1))
    net.op("CONCATENATION", [x, x], [twice], schema.ConcatenationOptionsT(axis=1))
    model = net.model(net.conv2d(twice, 3, kernel=(3, 3)))
    for without in ((), ("tiles",)):
        done = tflm_memopt.optimize(model, input="external", seconds=SECONDS, without=without)
        assert tflm_memopt.verify(model, done.model, runs=2).bit_exact


@pytest.mark.slow
@pytest.mark.parametrize("model", [float_input, uint8_input, int16_input])
@pytest.mark.parametrize("where", ["stream:1", "stream:3", "external"])
def test_elements_of_every_type_come_from_outside(model: Callable[[], bytes], where: str) -> None:
    done = tflm_memopt.optimize(model(), input=where, seconds=SECONDS)
    item = np.dtype(read(model()).graph.tensors[0].dtype.lower()).itemsize
    assert done.report.source is not None
    assert (done.report.source.rows, done.report.source.row_bytes) == (12, 24 * item)
    assert tflm_memopt.verify(model(), done.model, runs=4).bit_exact


def test_the_frame_takes_no_arena_or_that_of_its_rows() -> None:
    sizes = {where: tflm_memopt.optimize(plain(), input=where, seconds=SECONDS) for where in ("stream:2", "external")}
    (pushed,) = (read(sizes["stream:2"].model).graph.tensors[t] for t in read(sizes["stream:2"].model).graph.inputs)
    assert pushed.shape == (1, 2, 8, 3)
    assert read(sizes["external"].model).graph.inputs == ()
    plan = sizes["stream:2"].plan
    assert plan is not None
    assert plan.find(Role.TENSOR, 0) is not None
    frame = sizes["stream:2"].report.source
    assert frame is not None
    assert (frame.rows, frame.row_bytes, frame.pushed) == (12, 24, 2)


def test_all_readers_of_a_stream_are_in_the_first_group() -> None:
    net = Net(9)
    x = net.input((1, 16, 6, 4))
    data = net.model(net.add(net.conv2d(net.conv2d(x, 4, kernel=(3, 3)), 4, kernel=(5, 5)), x))
    planned = pipeline.make_plan(
        pipeline.annotate(read(data).graph), ConversionOptions(seconds=SECONDS, input=InputMode("stream", 2))
    )
    assert planned is not None
    first = planned.plan.steps[0]
    assert isinstance(first, Group)
    assert {stage.op for stage in first.stages} >= {i for i, op in planned.graph.ops.items() if 0 in op.inputs}


@pytest.mark.slow
def test_a_limit_that_a_streamed_input_keeps() -> None:
    """The message states it."""
    net = Net(10)
    data = net.model(net.mean(chain(net, net.input((1, 64, 64, 3))), (1, 2)))
    fits = tflm_memopt.optimize(data, input="stream", seconds=SECONDS).report.arena.total
    with pytest.raises(tflm_memopt.errors.DoesNotFit) as no:
        tflm_memopt.optimize(data, ram_limit=fits, seconds=SECONDS)
    (figure,) = re.findall(r"--input stream \(fits in ([\d,]+) B\)", no.value.hint)
    assert int(figure.replace(",", "")) <= fits
    there = tflm_memopt.optimize(data, ram_limit=fits, input="stream", seconds=SECONDS)
    assert there.report.arena.total <= fits
