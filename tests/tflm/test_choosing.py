"""Test LOG_SOFTMAX, ARG_MAX and ARG_MIN against TFLM, and their refusals."""

from __future__ import annotations

from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Affine, Net
from moving import arg_max, log_softmax
from tflm.test_moving import assert_all
from tflm.test_operators import affines, assert_equal

EXAMPLES = settings(max_examples=examples(20))
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
    if few:  # many values are equal, and the first one wins
        x = net.unary("RELU6", x, out=net.affine(x))
    assert_all(net, arg_max(net, x, smallest=smallest))
