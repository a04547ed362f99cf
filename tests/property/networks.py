"""Random int8 networks as data: a recipe of layers, small enough to print when a test fails, and what builds it.

Every recipe builds: a layer that does not fit its operand is bent until it does (a window that is too large is padded,
an operand that is no image is reshaped). Most operators are supported, a few stay builtin, in between and at the ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from hypothesis import strategies as st
from models import Net, Pair
from moving import (
    broadcast_to,
    concatenation,
    depth_to_space,
    mirror_pad,
    pack,
    reduce,
    resize,
    slice_,
    space_to_depth,
    split,
    split_v,
    strided_slice,
    tile,
    transpose_conv,
    unpack,
    upsampling,
)

MAX_ELEMENTS = 4096
"""A tensor that is larger is no further operand: recipes stay quick."""

MOST_CLASSES = 511
"""Of a SOFTMAX: TFLM aborts when the sum of the exponentials reaches 512 (RoundingDivideByPOT by more than 31)."""


@dataclass(frozen=True)
class Layer:
    """One operator, or a few that belong together. What a kind does not need, it does not look at."""

    kind: str
    source: int = 0
    """The operand: 0 is the newest tensor, counted backwards, modulo all."""
    other: int = 0
    """The second operand, the same way."""
    channels: int = 4
    kernel: Pair = (3, 3)
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    padding: str = "SAME"
    activation: str = "NONE"
    flag: bool = True
    """Per channel, kept dimensions, with bias, ..."""
    spread: int = 0
    """The output's scale is 2**spread times what suits it."""
    zero_point: int = 3


@dataclass(frozen=True)
class Recipe:
    """A network. Its outputs are all tensors that no layer reads, and `extra` ones, counted backwards."""

    inputs: tuple[tuple[int, ...], ...]
    layers: tuple[Layer, ...]
    extra: tuple[int, ...] = ()
    seed: int = 0
    outside: str = "INT8"
    """Type of the model's inputs and outputs: FLOAT32 and UINT8 are converted at the border."""
    inside: str = "INT8"
    """Type of its activations; INT16: of its inputs and outputs, too."""
    unused: int = 0
    """Tensors that no operator reads or writes, in front of all others: it moves their numbers."""


def build(recipe: Recipe) -> bytes:
    """The recipe's .tflite model."""
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
    outputs = dict.fromkeys([*unread, *(t for t in extra if recipe.outside == "INT8" or t not in entries)])
    return net.model(*(_exit(net, t, recipe.outside) for t in outputs))


def _entry(net: Net, shape: Sequence[int], number: int, dtype: str) -> int:
    scale, zero_point = 0.05, 7 * number - 3
    if dtype == "INT8":
        return net.input(shape, (scale, zero_point))
    x = net.input(shape, (scale, zero_point + 128) if dtype == "UINT8" else None, dtype=dtype)
    return net.unary("QUANTIZE", x, out=(scale, zero_point))


def _exit(net: Net, tensor: int, dtype: str) -> int:
    if dtype == "INT8":
        return tensor
    if dtype == "FLOAT32":
        return net.unary("DEQUANTIZE", tensor, dtype=dtype, out=None)
    scale, zero_point = net.affine(tensor)
    return net.unary("QUANTIZE", tensor, dtype=dtype, out=(scale, zero_point + 128))


# ---- layers ----


def _conv(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = _image(net, x)
    options = _window(net, layer, x)
    y = net.conv2d(
        x, layer.channels, dilation=layer.dilation, per_channel=layer.flag, bias=layer.source != 1, **options
    )
    return [_scaled(net, layer, y)]


def _depthwise(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = _image(net, x)
    multiplier = 1 + layer.channels % 3
    options = _window(net, layer, x)
    y = net.depthwise_conv2d(x, multiplier=multiplier, dilation=layer.dilation, per_channel=layer.flag, **options)
    return [_scaled(net, layer, y)]


def _padded(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """A PAD that goes into its convolution, or, of channels, one that cannot."""
    x = _image(net, x)
    (top, left), (bottom, right) = layer.dilation, layer.stride
    y = net.pad(
        x,
        [(0, 0), (top - 1, bottom), (left, right - 1), (0, 0 if layer.flag else 1)],
        value=None if layer.flag else layer.zero_point,
    )
    return _conv(net, layer, y, y)


def _pool(kind: str) -> Callable[[Net, Layer, int, int], list[int]]:
    def build_pool(net: Net, layer: Layer, x: int, _: int) -> list[int]:
        x = _image(net, x)
        return [net.pool(x, kind=kind, **_window(net, layer, x, dilated=False))]

    return build_pool


def _global_pool(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = _image(net, x)
    size = net.shape(x)[1:3]
    return [net.pool(x, kernel=size, stride=size if layer.flag else (1, 1))]


def _mean(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = _image(net, x)
    axes = {"SAME": (1, 2), "VALID": (1,) if layer.stride[0] == 1 else (2,)}[layer.padding]
    return [_scaled(net, layer, net.mean(x, axes, keep=layer.flag))]


def _transposed_mean(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """MCUNet's tail: TRANSPOSE, MEAN, MEAN."""
    y = net.mean(net.transpose(_image(net, x), (0, 3, 1, 2)), (2,), keep=False)
    return [_scaled(net, layer, net.mean(y, (2,), keep=False))]


def _dense(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    y = net.fully_connected(x, 3 * layer.channels, per_channel=layer.flag, activation=layer.activation)
    return [_scaled(net, layer, y)]


def _dense_rows(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """A dense layer on each pixel."""
    shape = net.shape(x)
    y = net.fully_connected(x, layer.channels, batches=math.prod(shape[:-1]), per_channel=layer.flag)
    return [_scaled(net, layer, y)]


def _add(net: Net, layer: Layer, x: int, other: int) -> list[int]:
    if net.shape(x) != net.shape(other):
        return _residual(net, layer, x, other)
    return [_scaled(net, layer, net.add(x, other, activation=layer.activation))]


def _residual(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """ADD of a tensor and a convolution of it, in either order."""
    x = _image(net, x)
    y = net.conv2d(x, net.shape(x)[3], kernel=layer.kernel, dilation=layer.dilation)
    return [_scaled(net, layer, net.add(*((x, y) if layer.flag else (y, x)), activation=layer.activation))]


def _bottleneck(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """MobileNet's inverted bottleneck: wide inside, with a shortcut where stride and channels allow one."""
    x = _image(net, x)
    channels = net.shape(x)[3] if layer.flag else layer.channels
    wide = net.conv2d(x, 3 * net.shape(x)[3], activation="RELU6")
    deep = net.depthwise_conv2d(wide, kernel=layer.kernel, stride=layer.stride, dilation=layer.dilation)
    y = _scaled(net, layer, net.conv2d(deep, channels))
    return [net.add(x, y)] if net.shape(x) == net.shape(y) else [y]


def _unary(kind: str) -> Callable[[Net, Layer, int, int], list[int]]:
    def build_unary(net: Net, layer: Layer, x: int, _: int) -> list[int]:
        return [_scaled(net, layer, net.unary(kind, x, out=net.affine(x)))]

    return build_unary


def _relu6(net: Net, _layer: Layer, x: int, _: int) -> list[int]:
    return [net.unary("RELU6", x, out=net.affine(x))]


def _softmax(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    return [net.softmax(x)] if net.shape(x)[-1] <= MOST_CLASSES else _relu6(net, layer, x, x)


def _reshape(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    elements = math.prod(net.shape(x))
    h = math.gcd(elements, 12 if layer.flag else 7)
    shapes = [(1, h, elements // h, 1), (1, elements // h, h), (1, elements), (1, elements // h, 1, h)]
    return [net.reshape(x, shapes[layer.channels % 4])]


def _attention(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """How tokens suit each other, and their sums by that."""
    x = _image(net, x)
    _, h, w, c = net.shape(x)
    if h * w > 64:
        return [x]
    x = net.reshape(x, (1, h * w, c))
    scores = net.batch_matmul(x, x, adjoint=True, out=(0.5, layer.zero_point))
    return [scores if layer.flag else net.batch_matmul(scores, x, adjoint=False, out=(0.1, layer.zero_point))]


def _embedded(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """GATHER of the largest of the last dimension. ARG_MAX stays builtin."""
    *shape, c = net.shape(x)
    axis = net.tensor((1,), "INT32", None, data=[len(shape)])
    largest = net.tensor(shape, "INT32", None)
    net.op("ARG_MAX", [x, axis], [largest], schema.ArgMaxOptionsT(outputType=schema.TensorType.INT32))
    return [net.gather(largest, c, layer.channels)]


def _int4(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = _image(net, x)
    options = _window(net, layer, x)
    match layer.source % 3:
        case 0:
            return [net.int4(net.conv2d(x, layer.channels, per_channel=layer.flag, **options))]
        case 1:
            return [net.int4(net.depthwise_conv2d(x, per_channel=layer.flag, **options))]
    return [net.int4(net.fully_connected(x, layer.channels))]


def _concatenation(net: Net, layer: Layer, x: int, other: int) -> list[int]:
    """Of two tensors where their shapes and scales allow it; else of one with itself, a few times."""
    axis = len(net.shape(x)) - 1 - layer.source % max(1, len(net.shape(x)) - 1)
    a, b = (tuple(d for n, d in enumerate(net.shape(t)) if n != axis) for t in (x, other))
    alike = a == b and len(net.shape(x)) == len(net.shape(other)) and net.affine(x) == net.affine(other)
    return [concatenation(net, [x, other] if alike else [x] * (1 + layer.channels % 3), axis)]


def _split(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """An operator with two outputs."""
    axis = 1 + layer.channels % (len(net.shape(x)) - 1)
    size = net.shape(x)[axis]
    if layer.flag and size % 2 == 0:
        return split(net, x, axis, 2)
    return split_v(net, x, axis, [size // 2, size - size // 2]) if size > 1 else [x]


def _stacked(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """PACK along one axis, then UNPACK along another."""
    rank = len(net.shape(x))
    y = pack(net, [x, x], 1 + layer.channels % (rank - 1))
    return unpack(net, y, 1 + layer.source % rank)[:2]


def _transposed(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    orders = ((0, 2, 1, 3), (0, 1, 3, 2), (0, 3, 1, 2), (0, 2, 3, 1), (0, 3, 2, 1))
    return [net.transpose(_image(net, x), orders[layer.channels % 5])]


def _repeated(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """BROADCAST_TO of means."""
    x = _image(net, x)
    return [broadcast_to(net, net.mean(x, (1, 2) if layer.flag else (3,)), net.shape(x))]


def _mirrored(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    amounts = [(0, 0)] + [(min(2, d - 1), min(n, d - 1)) for d, n in zip(net.shape(x)[1:], layer.stride, strict=False)]
    amounts += [(0, 0)] * (len(net.shape(x)) - len(amounts))
    return [mirror_pad(net, x, amounts, reflect=layer.flag)]


def _strided_slice(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """Backwards, from the second index, or every second one."""
    if layer.kernel[0] == 1:
        begin = [0, *(min(d - 1, layer.source) for d in net.shape(x)[1:])]
        return [slice_(net, x, begin, [-1] * len(begin))]
    forms = (slice(None, None, -1), slice(1, None), slice(None, None, 2))
    axis = 1 + layer.channels % (len(net.shape(x)) - 1)
    chosen = forms[layer.source % 3] if net.shape(x)[axis] > 1 else slice(None)
    return [strided_slice(net, x, [chosen if a == axis else slice(None) for a in range(len(net.shape(x)))])]


def _blocks(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """DEPTH_TO_SPACE or SPACE_TO_DEPTH, whichever divides."""
    x = _image(net, x)
    _, h, w, c = net.shape(x)
    if layer.flag and h % 2 == w % 2 == 0:
        return [space_to_depth(net, x, 2)]
    return [depth_to_space(net, x, 2 if c % 4 == 0 else 1)]


def _resize(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = _image(net, x)
    _, h, w, _ = net.shape(x)
    size = (h * layer.stride[0], w * layer.stride[1]) if h * w <= 64 else (-(-h // 2), w)
    return [resize(net, x, size, bilinear=layer.flag, half=layer.padding == "SAME")]


def _tiled(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """Of pixels, as UpSampling2D has it; or of the whole image."""
    x = _image(net, x)
    if math.prod((*net.shape(x), *layer.stride)) > MAX_ELEMENTS:
        return [x]
    return [
        upsampling(net, x, layer.stride) if layer.flag else tile(net, x, (1, *layer.stride, 1 + layer.channels % 2))
    ]


def _transpose_conv(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = _image(net, x)
    stride = layer.stride if net.shape(x)[1] * net.shape(x)[2] <= 64 else (1, 1)
    y = transpose_conv(net, x, layer.channels, kernel=layer.kernel, stride=stride, padding=layer.padding,
                       per_channel=layer.flag, bias=layer.source != 1)  # fmt: skip
    return [_scaled(net, layer, y)]


def _reduce(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    kind = ("SUM", "REDUCE_MAX", "MEAN")[layer.channels % 3]
    axes = [a for a in (1, 2, 3) if layer.kernel[0] >> (a - 1) & 1] or [3]
    y = reduce(net, kind, _image(net, x), axes, keep=layer.flag)
    return [y if kind == "REDUCE_MAX" else _scaled(net, layer, y)]


TWO_OPERANDS = ("MUL", "SUB", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "PRELU", "ADD")


def _two(net: Net, layer: Layer, x: int, other: int) -> list[int]:
    """Two operands: tensors of one shape, or one of them repeated or constant, in either order."""
    kind, shape = TWO_OPERANDS[layer.channels % len(TWO_OPERANDS)], net.shape(x)
    if layer.stride[1] > 1 or not _repeatable(net.shape(other), shape):
        size = [d if layer.kernel[0] >> k & 1 else 1 for k, d in enumerate(shape[1:])]
        values = net.rng.integers(-128, 128, size)
        other = net.tensor(size, affine=(0.03, layer.zero_point), data=values)
    a, b = net.affine(x)[0], net.affine(other)[0]
    scale = {"MUL": 40 * a * b, "PRELU": max(a, 40 * a * b), "SQUARED_DIFFERENCE": 99 * max(a, b) ** 2}.get(kind, a + b)
    operands = (x, other) if layer.flag else (other, x)
    return [net.binary(kind, *operands, activation=layer.activation, out=(scale, layer.zero_point))]


def _repeatable(shape: Sequence[int], whole: Sequence[int]) -> bool:
    return len(shape) == len(whole) and all(a in (1, b) for a, b in zip(shape, whole, strict=True))


def _gated(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """Squeeze and excite."""
    x = _image(net, x)
    return [_excited(net, layer, x, net.mean(x, (1, 2)))]


def _averaged(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """The same with a pool."""
    x = _image(net, x)
    size = net.shape(x)[1:3]
    return [_excited(net, layer, x, net.pool(x, kernel=size, stride=size))]


def _excited(net: Net, layer: Layer, x: int, mean: int) -> int:
    squeezed = net.conv2d(mean, layer.kernel[0], activation="RELU")
    gate = net.unary("LOGISTIC", net.conv2d(squeezed, net.shape(x)[3]), out=(1 / 256, -128))
    return net.binary("MUL", x, gate, out=net.affine(x))


def _logistic(net: Net, _layer: Layer, x: int, _: int) -> list[int]:
    return [net.unary("LOGISTIC", x, out=(1 / 256, -128))]


def _looked_up(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """One of those that compute byte by byte."""
    kind = ("LEAKY_RELU", "HARD_SWISH", "TANH", "ABS", "ELU")[layer.channels % 5]
    options = schema.LeakyReluOptionsT(alpha=layer.other / 4) if kind == "LEAKY_RELU" else None
    scale = net.affine(x)[0] * 2.0 ** max(layer.spread, 0)  # HARD_SWISH cannot magnify
    return [net.unary(kind, x, out=(scale, layer.zero_point), options=options)]


# ---- operators that stay builtin ----


def _normalized(net: Net, _layer: Layer, x: int, _: int) -> list[int]:
    return [net.normalized(x)]


def _float(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """A part in float32."""
    inner = net.unary("DEQUANTIZE", x, dtype="FLOAT32", out=None)
    if layer.flag:
        inner = net.unary("RELU", inner, dtype="FLOAT32", out=None)
    return [net.unary("QUANTIZE", inner, out=(net.affine(x)[0], layer.zero_point))]


Build = Callable[[Net, Layer, int, int], list[int]]
SUPPORTED: Mapping[str, Build] = {
    "conv": _conv,
    "depthwise": _depthwise,
    "padded": _padded,
    "average": _pool("AVERAGE_POOL_2D"),
    "max": _pool("MAX_POOL_2D"),
    "global": _global_pool,
    "mean": _mean,
    "transposed mean": _transposed_mean,
    "dense": _dense,
    "dense rows": _dense_rows,
    "add": _add,
    "residual": _residual,
    "bottleneck": _bottleneck,
    "relu": _unary("RELU"),
    "relu6": _relu6,
    "quantize": _unary("QUANTIZE"),
    "softmax": _softmax,
    "logistic": _logistic,
    "looked up": _looked_up,
    "two": _two,
    "gated": _gated,
    "averaged": _averaged,
    "reshape": _reshape,
    "attention": _attention,
    "int4": _int4,
    **(
        MOVING := {
            "concatenation": _concatenation,
            "split": _split,
            "mirrored": _mirrored,
            "slice": _strided_slice,
            "blocks": _blocks,
            "resize": _resize,
            "tiled": _tiled,
            "stacked": _stacked,
            "transposed": _transposed,
            "repeated": _repeated,
            "transpose conv": _transpose_conv,
            "reduce": _reduce,
        }
    ),
}
BUILTIN: Mapping[str, Build] = {
    "normalized": _normalized,
    "float": _float,
    "embedded": _embedded,
}
KINDS: Mapping[str, Build] = {**SUPPORTED, **BUILTIN}
INT16 = (
    "conv", "depthwise", "dense", "dense rows", "add", "residual", "bottleneck", "reshape", "padded", "average", "max",
    "global",
)  # fmt: skip
"""Kinds that can be built of int16; pools stay builtin."""


# ---- parts ----


def _image(net: Net, x: int) -> int:
    """The tensor in four dimensions."""
    shape = net.shape(x)
    return x if len(shape) == 4 else net.reshape(x, (1,) * (4 - len(shape)) + shape)


def _window(net: Net, layer: Layer, x: int, *, dilated: bool = True) -> dict[str, object]:
    """Options of a convolution or pool; SAME when the window is larger than its input."""
    dilation = layer.dilation if dilated else (1, 1)
    extent = [(k - 1) * d + 1 for k, d in zip(layer.kernel, dilation, strict=True)]
    fits = all(e <= n for e, n in zip(extent, net.shape(x)[1:3], strict=True))
    return {
        "kernel": layer.kernel,
        "stride": layer.stride,
        "padding": layer.padding if fits else "SAME",
        "activation": layer.activation,
    }


def _scaled(net: Net, layer: Layer, y: int) -> int:
    """Gives the tensor the layer's scale and zero point."""
    q = net.graph.tensors[y].quantization
    q.scale = np.array([q.scale[0] * 2.0**layer.spread], np.float32)
    q.zeroPoint = np.array([0 if net.dtype(y) == "INT16" else layer.zero_point], np.int64)
    return y


# ---- strategies ----

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
def recipes(draw: st.DrawFn, *, most: int = 9) -> Recipe:
    """Networks of up to `most` layers: some of supported operators only, some mixed, some as in image classifiers."""
    kinds = draw(st.sampled_from(_kind_sets))
    inputs = draw(st.lists(st.one_of(_small, _tall, _small, _tall, _flat), min_size=1, max_size=2))
    body = draw(st.lists(layers(kinds), min_size=draw(st.sampled_from([1, 2, 4])), max_size=most))
    extra = draw(st.lists(st.integers(0, 8), max_size=2))
    outside = draw(st.sampled_from(["INT8", "INT8", "INT8", "FLOAT32", "UINT8"]))
    seed = draw(st.integers(0, 1 << 16))
    unused = draw(st.one_of(st.just(0), st.integers(0, 300)))
    if kinds is INT16:
        return Recipe(tuple(inputs), tuple(body), tuple(extra), seed, inside="INT16", unused=unused)
    return Recipe(tuple(inputs), tuple(body), tuple(extra), seed, outside, unused=unused)
