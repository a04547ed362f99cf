"""Test RESIZE_BILINEAR, TRANSPOSE_CONV and reductions over any axes, in odd shapes, against TFLM."""

from __future__ import annotations

import itertools

from conftest import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models import Affine, Net, Pair
from moving import reduce, resize, transpose_conv
from tflm.test_moving import assert_all, image, types

EXAMPLES = settings(max_examples=examples(6))
shapes = st.tuples(st.just(1), st.integers(1, 7), st.integers(1, 6), st.integers(1, 5))
pairs = st.tuples(st.integers(1, 4), st.integers(1, 4))
affines = st.tuples(st.floats(2**-8, 0.25, width=32), st.integers(-128, 127))


@EXAMPLES
@given(shape=shapes, size=st.tuples(st.integers(1, 15), st.integers(1, 13)),
       mode=st.sampled_from(["", "corners", "half"]), streamed=st.booleans())  # fmt: skip
def test_resize_bilinear(shape: tuple[int, ...], size: Pair, mode: str, streamed: bool) -> None:
    for n, m in zip(shape[1:3], size, strict=True):
        assume(mode or ((1024 * n + m // 2) // m) * (m - 1) < 1024 * n)  # otherwise TFLM reads beyond the image
    net = Net()
    y = resize(
        net, image(net, shape, streamed=streamed), size, bilinear=True, corners=mode == "corners", half=mode == "half"
    )
    assert_all(net, y)


@EXAMPLES
@given(shape=shapes, channels=st.integers(1, 5), kernel=pairs, stride=pairs, padding=st.sampled_from(["SAME", "VALID"]),
       extra=st.tuples(st.integers(0, 2), st.integers(0, 2)), per_channel=st.booleans(), bias=st.booleans(),
       activation=st.sampled_from(["NONE", "RELU"]), streamed=st.booleans(), seed=st.integers(0, 1 << 16),
       dtype=types)  # fmt: skip
def test_transpose_conv(
    shape: tuple[int, ...], channels: int, kernel: Pair, stride: Pair, padding: str, extra: Pair, per_channel: bool,
    bias: bool, activation: str, streamed: bool, seed: int, dtype: str,
) -> None:  # fmt: skip
    net = Net(seed, activations=dtype)
    x = image(net, shape, streamed=streamed)
    y = transpose_conv(net, x, channels, kernel=kernel, stride=stride, padding=padding, extra=extra,
                       per_channel=per_channel, bias=bias, activation=activation)  # fmt: skip
    assert_all(net, y)


REDUCTIONS = ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN")
AXES = [axes for n in (1, 2, 3) for axes in itertools.combinations((1, 2, 3), n)]


@EXAMPLES
@given(kind=st.sampled_from(REDUCTIONS), shape=shapes, axes=st.sampled_from(AXES),
       keep=st.booleans(), a=affines, b=affines, streamed=st.booleans(), dtype=types)  # fmt: skip
def test_reductions(
    kind: str, shape: tuple[int, ...], axes: tuple[int, ...], keep: bool, a: Affine, b: Affine, streamed: bool,
    dtype: str,
) -> None:  # fmt: skip
    net = Net(activations=dtype)
    if dtype == "INT16":
        assume(not kind.startswith("REDUCE"))
        a, b = (a[0], 0), (b[0], 0)
    x = net.input(shape, a)
    x = net.conv2d(x, shape[-1], out=a) if streamed else x
    assert_all(net, reduce(net, kind, x, axes, keep=keep, out=None if kind.startswith("REDUCE") else b))
