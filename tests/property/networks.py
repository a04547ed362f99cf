"""Describes random networks by recipes that are small enough for the message of a failed test."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from models import Net
from property.layers import INT16, KINDS, MOVING, SUPPORTED, Layer
from property.layers.layer import MAX_ELEMENTS


@dataclass(frozen=True)
class Recipe:
    """The model's outputs are the tensors without a reader, and the tensors with an index in the field `extra`. Index 0
    stands for the newest tensor.
    """

    inputs: tuple[tuple[int, ...], ...]
    layers: tuple[Layer, ...]
    extra: tuple[int, ...] = ()
    seed: int = 0
    outside: str = "INT8"
    inside: str = "INT8"
    """Type of the network's activations."""
    unwanted: int = 0
    unused: int = 0


def build(recipe: Recipe) -> bytes:
    net = Net(recipe.seed, activations=recipe.inside)
    for _ in range(recipe.unused):
        net.tensor((1,))
    entries = [_entry(net, shape, k, recipe.outside) for k, shape in enumerate(recipe.inputs)]
    tensors = list(entries)
    for layer in recipe.layers:
        small = [t for t in tensors if math.prod(net.shape(t)) <= MAX_ELEMENTS]
        operands = small[-1 - layer.source % len(small)], small[-1 - layer.other % len(small)]
        tensors += KINDS[layer.kind](net, layer, *operands)
    read = {int(t) for op in net.graph.operators for t in op.inputs}
    unread = [t for t in tensors if t not in read and t not in entries]
    extra = [tensors[-1 - k % len(tensors)] for k in recipe.extra]
    wanted = unread[recipe.unwanted :] or unread[-1:]
    outputs = dict.fromkeys([*wanted, *(t for t in extra if recipe.outside == "INT8" or t not in entries)])
    return net.model(*(_exit(net, t, recipe.outside) for t in outputs))


def _entry(net: Net, shape: Sequence[int], number: int, dtype: str) -> int:
    scale, zero_point = 0.05, 7 * number - 3
    if dtype == "INT8":
        return net.input(shape, (scale, zero_point))
    affine = {"UINT8": (scale, zero_point + 128), "INT16": (scale / 200, 0)}.get(dtype)
    wide = net.activations == "INT16"
    x = net.input(shape, affine, dtype=dtype)
    return net.unary("QUANTIZE", x, dtype=net.activations, out=(scale, 0 if wide else zero_point))


def _exit(net: Net, tensor: int, dtype: str) -> int:
    if dtype == "INT8":
        return tensor
    if dtype == "FLOAT32":
        return net.unary("DEQUANTIZE", tensor, dtype=dtype, out=None)
    scale, zero_point = net.affine(tensor)
    out = (scale / 100, 0) if dtype == "INT16" else (scale, zero_point + 128)
    return net.unary("QUANTIZE", tensor, dtype=dtype, out=out)


_kernels = st.tuples(st.integers(1, 5), st.integers(1, 4))
_strides = st.tuples(st.integers(1, 4), st.integers(1, 3))
_dilations = st.one_of(st.just((1, 1)), st.tuples(st.integers(1, 3), st.integers(1, 2)))


def layers(kinds: Sequence[str] = tuple(KINDS)) -> st.SearchStrategy[Layer]:
    return st.builds(
        Layer,
        kind=st.sampled_from(kinds),
        source=st.one_of(st.just(0), st.integers(0, 4)),
        other=st.integers(0, 6),
        channels=st.integers(1, 8),
        kernel=_kernels,
        stride=st.one_of(st.just((1, 1)), st.just((2, 2)), _strides),
        dilation=_dilations,
        padding=st.sampled_from(["SAME", "VALID"]),
        activation=st.sampled_from(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"]),
        flag=st.booleans(),
        spread=st.one_of(st.just(0), st.integers(-6, 6)),
        zero_point=st.one_of(st.just(3), st.sampled_from([-128, 127]), st.integers(-128, 127)),
    )


_small = st.tuples(st.just(1), st.integers(1, 14), st.integers(1, 9), st.integers(1, 6))
_tall = st.tuples(st.just(1), st.integers(15, 60), st.integers(1, 4), st.integers(1, 3))
_flat = st.tuples(st.just(1), st.integers(1, 9), st.integers(1, 5))
_kind_sets = (
    tuple(SUPPORTED),
    tuple(SUPPORTED),
    tuple(KINDS),
    ("conv", "depthwise", "residual", "padded", *MOVING),
    ("conv", "conv", "depthwise", "residual", "bottleneck", "add", "max", "relu", "mean", "global"),
    INT16,
)


@st.composite
def recipes(draw: st.DrawFn, *, most: int = 9, sets: Sequence[tuple[str, ...]] = _kind_sets) -> Recipe:
    """Draw networks of up to `most` layers, each with the kinds of layers in one item of `sets`."""
    kinds = draw(st.sampled_from(sets))
    inputs = draw(st.lists(st.one_of(_small, _tall, _small, _tall, _flat), min_size=1, max_size=3))
    body = draw(st.lists(layers(kinds), min_size=draw(st.sampled_from([1, 2, 4])), max_size=most))
    extra = draw(st.lists(st.integers(0, 8), max_size=2))
    outside = draw(st.sampled_from(["INT8", "INT8", "INT8", "FLOAT32", "UINT8", "INT16"]))
    seed = draw(st.integers(0, 1 << 16))
    unwanted = draw(st.one_of(st.just(0), st.integers(0, 4)))
    unused = draw(st.one_of(st.just(0), st.integers(0, 300)))
    if kinds is INT16:
        outside = "FLOAT32" if outside == "FLOAT32" else "INT8"
        return Recipe(tuple(inputs), tuple(body), tuple(extra), seed, outside, "INT16", unwanted, unused)
    return Recipe(tuple(inputs), tuple(body), tuple(extra), seed, outside, "INT8", unwanted, unused)
