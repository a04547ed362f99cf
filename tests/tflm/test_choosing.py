"""Test LOG_SOFTMAX, ARG_MAX and ARG_MIN against TFLM, and their refusals."""

from __future__ import annotations

import pytest
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Affine, Net
from moving import arg_max, log_softmax
from tflm.test_moving import assert_all
from tflm.test_operators import affines, assert_equal

from tflm_memopt.model.reader import read
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.rowgraph.supported import to_row_ops

EXAMPLES = settings(max_examples=examples(20), deadline=None)
shapes = st.one_of(
    st.tuples(st.just(1), st.integers(1, 40)), st.tuples(st.just(1), st.integers(1, 5), st.integers(1, 30)),
    st.tuples(st.just(1), st.integers(1, 5), st.integers(1, 4), st.integers(1, 30)),
)  # fmt: skip


@EXAMPLES
@given(shape=shapes, affine=affines)
def test_log_softmax(shape: tuple[int, ...], affine: Affine) -> None:
    net = Net()
    assert_equal(net.model(log_softmax(net, net.input(shape, affine))))


@EXAMPLES
@given(shape=shapes, smallest=st.booleans(), behind=st.booleans(), few=st.booleans())
def test_arg_max(shape: tuple[int, ...], smallest: bool, behind: bool, few: bool) -> None:
    net = Net()
    x = net.input(shape)
    if behind and len(shape) == 4:
        x = net.conv2d(x, shape[-1], kernel=(3, 3))
    if few:  # many values are equal; the first wins
        x = net.unary("RELU6", x, out=net.affine(x))
    assert_all(net, arg_max(net, x, smallest=smallest))


def _unknown_axis(net: Net) -> int:
    y = arg_max(net, net.input((1, 4)))
    net.graph.operators[-1].inputs[1] = net.input((1,), None, dtype="INT32")
    return y


def _int16(net: Net) -> int:
    return arg_max(net, net.input((1, 4), dtype="INT16"))


def _tiny(net: Net) -> int:
    return log_softmax(net, net.input((1, 4), (2**-27, 0)))


def _other_scale(net: Net) -> int:
    y = log_softmax(net, net.input((1, 4)))
    net.graph.tensors[y].quantization.scale[0] = 1 / 8
    return y


@pytest.mark.parametrize(
    ("build", "code", "detail"),
    [
        (_unknown_axis, "one_axis", "its axis is known only at run time"),
        (_int16, "int32_places", "INT32 of INT16"),
        (_tiny, "log_softmax_scale", "scale 7.45058e-09"),
        (_other_scale, "log_softmax_output", "scale 0.125, zero point 127"),
    ],
)
def test_refusals(build, code: str, detail: str) -> None:  # type: ignore[no-untyped-def]
    net = Net()
    (refused,) = to_row_ops(read(net.model(build(net))).graph).values()
    assert isinstance(refused, Unsupported)
    assert (refused.code, refused.detail) == (code, detail)
