"""Test the whole conversion at the level of bytes: what is converted, what stays unchanged, and the report."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net

import tflm_memopt
from tflm_memopt.convert import annotation
from tflm_memopt.errors import UsageError
from tflm_memopt.plan.layout import offsets

SECONDS = 0.3


def network() -> bytes:
    net = Net(seed=1)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2))
    y = net.add(x, net.conv2d(net.depthwise_conv2d(x), 8, kernel=(3, 3)))
    return net.model(net.softmax(net.fully_connected(net.pool(y, kernel=(12, 12)), 10, out=(0.1, 0))))


def float_border() -> bytes:
    net = Net(seed=2)
    x = net.unary("QUANTIZE", net.input((1, 16, 16, 3), None, dtype="FLOAT32"))
    y = net.conv2d(net.conv2d(x, 8, kernel=(3, 3)), 4, kernel=(3, 3), stride=(2, 2))
    return net.model(net.unary("DEQUANTIZE", y, dtype="FLOAT32", out=None))


def two_subgraphs(*, planned: bool = True) -> bytes:
    """A model with two subgraphs. `planned`: TFLM plans a tensor of the second one, which is never called."""
    net = Net()
    tree = net.finished(net.conv2d(net.input((1, 8, 8, 2)), 4))
    own = schema.TensorT(shape=np.array([1, 4], np.int32), type=schema.TensorType.INT8, buffer=0, name="own")
    other = schema.SubGraphT(tensors=[own] * planned, inputs=[], outputs=[], operators=[], name="other")
    tree.subgraphs.append(other)
    return net.model(*tree.subgraphs[0].outputs)


def unknown_shape() -> bytes:
    net = Net()
    x = net.conv2d(net.input((1, 8, 8, 2)), 4)
    y = net.normalized(x)
    net.graph.tensors[y].shape = np.array([1, -1, 8, 4], np.int32)
    return net.model(y)


# ---- annotate ----


# ---- optimize ----


@pytest.mark.parametrize("op_per", ["region", "group"])
def test_a_model_gets_smaller(op_per: str) -> None:
    done = tflm_memopt.optimize(network(), name="net", op_per=op_per, seconds=SECONDS)  # type: ignore[arg-type]
    report = done.report
    assert report.changed
    assert done.plan is not None
    assert report.arena.total < report.original_arena.total
    assert report.arena.head == done.plan.head or report.arena.head == -(-done.plan.head // 16) * 16
    assert report.lower_bound_head <= done.plan.head
    assert (report.model, report.op_per, report.overhead, report.kept_builtin) == ("net", op_per, 1.0, ())
    assert report.flash.rewritten == len(done.model)


def test_the_same_model_gives_the_same_bytes() -> None:
    first = tflm_memopt.optimize(network(), seconds=SECONDS).model
    offsets.forget()
    assert tflm_memopt.optimize(network(), seconds=SECONDS).model == first


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (two_subgraphs, "no operator calls subgraph 1"),
        (unknown_shape, str(annotation.DYNAMIC)),
    ],
)
def test_a_model_that_cannot_be_converted_comes_back(model, why: str) -> None:
    done = tflm_memopt.optimize(model(), seconds=SECONDS)
    assert (done.model, done.plan, done.report.changed) == (model(), None, False)
    assert done.report.why_unchanged.startswith(why)
    assert done.report.arena == done.report.original_arena
    assert done.report.groups == ()


def test_int8_io_takes_the_conversions_away() -> None:
    plain = tflm_memopt.optimize(float_border(), seconds=SECONDS)
    done = tflm_memopt.optimize(float_border(), int8_io=True, seconds=SECONDS)
    assert plain.report.kept_builtin == done.report.kept_builtin == ()
    assert plain.report.interface == ()
    assert [(change.side, "INT8" in change.after) for change in done.report.interface] == [
        ("input", True),
        ("output", True),
    ]
    assert done.report.arena.total < plain.report.arena.total


@pytest.mark.parametrize("settings", [{"input": "cloud"}, {"op_per": "tensor"}])
def test_impossible_settings(settings: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=next(iter(settings.values()))):
        tflm_memopt.optimize(network(), **settings)  # type: ignore[arg-type]


# ---- inspect ----
