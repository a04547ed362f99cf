"""Each function adds a layer that computes, such as a convolution, a pool, a sum or a nonlinear function."""

import math
from collections.abc import Sequence

import moving
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from models import Net
from poses import gather_nd
from poses import two as two_of
from property.layers.layer import Build, Layer, image, scaled, window

MOST_CLASSES = 511
"""TFLM's RoundingDivideByPOT() aborts if a sum of exponentials in SOFTMAX reaches 512."""


def conv(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """If `other` is odd and the number of channels allows it, the convolution has groups."""
    x = image(net, x)
    if in_blocks(net, layer, x):
        return dilated(net, layer, x)
    options = window(net, layer, x)
    y = net.conv2d(
        x,
        layer.channels,
        dilation=layer.dilation,
        per_channel=layer.flag,
        bias=layer.source != 1,
        groups=math.gcd(layer.channels, net.shape(x)[3]) if layer.other % 2 else 1,
        **options,
    )
    return [scaled(net, layer, y)]


def in_blocks(net: Net, layer: Layer, x: int) -> bool:
    """TFLM has no int16 kernel for SPACE_TO_BATCH_ND, with which converters write a dilated convolution."""
    return layer.dilation != (1, 1) and layer.other > 3 and net.dtype(x) == "INT8"


def dilated(net: Net, layer: Layer, x: int, *, depthwise: bool = False) -> list[int]:
    """Add a dilated convolution as converters write it: SPACE_TO_BATCH_ND, CONV_2D, BATCH_TO_SPACE_ND. A PAD fills
    whole blocks, because TFLM's SPACE_TO_BATCH_ND pads with uninitialised values.
    """
    none = [(0, 0), (0, 0)]
    reach = [(k - 1) * d for k, d in zip(layer.kernel, layer.dilation, strict=True)]
    pads = [(r, -(n + r) % d) for n, r, d in zip(net.shape(x)[1:3], reach, layer.dilation, strict=True)]
    y = moving.space_to_batch(net, net.pad(x, [(0, 0), *pads, (0, 0)]), layer.dilation, none)
    options = {"kernel": layer.kernel, "padding": "VALID", "per_channel": layer.flag, "activation": layer.activation}
    y = net.depthwise_conv2d(y, **options) if depthwise else net.conv2d(y, layer.channels, **options)
    crops = [(0, extra) for _, extra in pads] if layer.padding == "SAME" else none
    return [moving.batch_to_space(net, scaled(net, layer, y), layer.dilation, crops)]


def depthwise(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    if in_blocks(net, layer, x):
        return dilated(net, layer, x, depthwise=True)
    multiplier = 1 + layer.channels % 3
    options = window(net, layer, x)
    y = net.depthwise_conv2d(x, multiplier=multiplier, dilation=layer.dilation, per_channel=layer.flag, **options)
    return [scaled(net, layer, y)]


def padded(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    (top, left), (bottom, right) = layer.dilation, layer.stride
    if layer.other > 4:
        _, h, w, c = net.shape(x)
        y = net.pad(net.reshape(x, (1, h * w, c)), [(0, 0), (top, right), (0, 0)])
        y = net.reshape(y, (1, *net.shape(y)))
        return conv(net, layer, y, y)
    y = net.pad(
        x,
        [(0, 0), (top - 1, bottom), (left, right - 1), (0, 0 if layer.flag else 1)],
        value=None if layer.flag else layer.zero_point,
    )
    return conv(net, layer, y, y)


def pool(kind: str) -> Build:
    def build_pool(net: Net, layer: Layer, x: int, _: int) -> list[int]:
        x = image(net, x)
        return [net.pool(x, kind=kind, **window(net, layer, x, dilated=False))]

    return build_pool


def global_pool(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    size = net.shape(x)[1:3]
    return [net.pool(x, kernel=size, stride=size if layer.flag else (1, 1))]


def mean(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    axes = {"SAME": (1, 2), "VALID": (1,) if layer.stride[0] == 1 else (2,)}[layer.padding]
    return [scaled(net, layer, net.mean(x, axes, keep=layer.flag))]


def transposed_mean(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    y = net.mean(net.transpose(image(net, x), (0, 3, 1, 2)), (2,), keep=False)
    return [scaled(net, layer, net.mean(y, (2,), keep=False))]


def dense(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    y = net.fully_connected(x, 3 * layer.channels, per_channel=layer.flag, activation=layer.activation)
    return [scaled(net, layer, y)]


def dense_rows(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    shape = net.shape(x)
    y = net.fully_connected(x, layer.channels, batches=math.prod(shape[:-1]), per_channel=layer.flag)
    return [scaled(net, layer, y)]


def add(net: Net, layer: Layer, x: int, other: int) -> list[int]:
    if net.shape(x) != net.shape(other):
        return residual(net, layer, x, other)
    return [scaled(net, layer, net.add(x, other, activation=layer.activation))]


def residual(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    y = net.conv2d(x, net.shape(x)[3], kernel=layer.kernel, dilation=layer.dilation)
    return [scaled(net, layer, net.add(*((x, y) if layer.flag else (y, x)), activation=layer.activation))]


def bottleneck(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    channels = net.shape(x)[3] if layer.flag else layer.channels
    wide = net.conv2d(x, 3 * net.shape(x)[3], activation="RELU6")
    deep = net.depthwise_conv2d(wide, kernel=layer.kernel, stride=layer.stride, dilation=layer.dilation)
    y = scaled(net, layer, net.conv2d(deep, channels))
    return [net.add(x, y)] if net.shape(x) == net.shape(y) else [y]


def unary(kind: str) -> Build:
    def build_unary(net: Net, layer: Layer, x: int, _: int) -> list[int]:
        return [scaled(net, layer, net.unary(kind, x, dtype=net.dtype(x), out=net.affine(x)))]

    return build_unary


def relu6(net: Net, _layer: Layer, x: int, _: int) -> list[int]:
    return [net.unary("RELU6", x, out=net.affine(x))]


def softmax(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    return [net.softmax(x)] if net.shape(x)[-1] <= MOST_CLASSES else relu6(net, layer, x, x)


def attention(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """Add an attention layer, which has several heads if `other` is odd."""
    x = image(net, x)
    _, h, w, c = net.shape(x)
    if h * w > 64:
        return [x]
    x = net.reshape(x, (1, h * w, c))
    if layer.other % 2:
        return [in_heads(net, layer, x)]
    if layer.activation == "RELU6":  # Linear attention.
        context = net.batch_matmul(x, x, adjoint=False, adj_x=True, out=(0.5, layer.zero_point))
        return [net.batch_matmul(x, context, adjoint=layer.flag, out=(0.5, layer.zero_point))]
    scores = net.batch_matmul(x, x, adjoint=True, out=(0.5, layer.zero_point))
    return [scores if layer.flag else net.batch_matmul(scores, x, adjoint=False, out=(0.1, layer.zero_point))]


def in_heads(net: Net, layer: Layer, x: int) -> int:
    _, tokens, c = net.shape(x)
    heads, depth = 1 + layer.channels % 4, layer.kernel[0]
    plain, swapped = (0, 2, 1, 3), (0, 2, 3, 1)

    def projected(order: tuple[int, ...]) -> int:
        y = net.conv2d(net.reshape(x, (1, 1, tokens, c)), heads * depth, per_channel=layer.flag)
        return net.transpose(net.reshape(y, (1, tokens, heads, depth)), order)

    values = projected(plain) if layer.padding == "SAME" else -1
    keys = projected(plain if layer.flag else swapped)
    scores = net.batch_matmul(projected(plain), keys, adjoint=layer.flag, out=(0.05, layer.zero_point))
    if layer.activation != "NONE":
        scale = net.tensor((), net.dtype(x), (0.01, 0), data=[35])
        scores = net.binary("MUL", scores, scale, out=(0.02, 0))
    scores = net.softmax(scores)
    values = projected(plain) if values < 0 else values
    y = net.batch_matmul(scores, values, adjoint=False, out=(0.02, layer.zero_point))
    return net.reshape(net.transpose(y, plain), (1, 1, tokens, heads * depth))


def picked(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    _, h, w, c = net.shape(x)
    at = moving.arg_max(net, net.reshape(x, (1, h * w, c)), axis=1, smallest=layer.flag)
    return [gather_nd(net, net.reshape(x, (h * w, c)), net.reshape(at, (c, 1)))]


def masked(net: Net, layer: Layer, x: int, other: int) -> list[int]:
    """TFLM's comparisons abort if the scale of an operand is 1 or more."""
    if net.affine(x)[0] >= 1:
        return relu6(net, layer, x, x)
    limit = net.tensor((1,), net.dtype(x), net.affine(x), data=[layer.zero_point])
    if layer.kernel[0] % 2 and net.dtype(other) == net.dtype(x) and net.affine(other)[0] < 1:
        limit = other if repeatable(net.shape(other), net.shape(x)) else limit
    kind = ("GREATER", "LESS", "GREATER_EQUAL", "LESS_EQUAL", "EQUAL", "NOT_EQUAL")[layer.channels % 6]
    mask = two_of(net, kind, *((limit, x) if layer.flag else (x, limit)), "BOOL")
    y = net.tensor(net.shape(x), net.dtype(x))
    return [net.op("CAST", [mask], [y], schema.CastOptionsT())]


def selected(net: Net, layer: Layer, x: int, other: int) -> list[int]:
    if net.affine(x)[0] >= 1:
        return relu6(net, layer, x, x)
    shape, like = net.shape(x), net.affine(x)
    limit = net.tensor((1,), net.dtype(x), like, data=[layer.zero_point])
    mask = two_of(net, "GREATER", x, limit, "BOOL")
    if layer.channels % 3 == 0 and len(shape) == 4:
        mask = moving.slice_(net, mask, [0] * 4, [*shape[:3], 1])
    parts = [shape, (1,), shape[-1:], (1, *shape[1:])]
    fixed = [
        net.tensor(part, net.dtype(x), like, data=net.rng.integers(-100, 100, part))
        for part in (parts[layer.channels % 4], parts[layer.kernel[0] % 4])
    ]
    a = x if layer.flag else fixed[0]
    b = other if net.shape(other) == shape and layer.kernel[1] % 2 else fixed[1]
    if np.broadcast_shapes(*map(net.shape, (mask, a, b))) != shape:
        a = x
    y = net.tensor(shape, net.dtype(x), like)
    return [net.op("SELECT_V2", [mask, *((a, b) if layer.kernel[0] % 2 else (b, a))], [y], schema.SelectV2OptionsT())]


def int4(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    options = window(net, layer, x)
    match layer.source % 3:
        case 0:
            return [net.int4(net.conv2d(x, layer.channels, per_channel=layer.flag, **options))]
        case 1:
            return [net.int4(net.depthwise_conv2d(x, per_channel=layer.flag, **options))]
    return [net.int4(net.fully_connected(x, layer.channels))]


TWO_OPERANDS = ("MUL", "SUB", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "PRELU", "ADD")


def two(net: Net, layer: Layer, x: int, other: int) -> list[int]:
    kind, shape = TWO_OPERANDS[layer.channels % len(TWO_OPERANDS)], net.shape(x)
    if layer.stride[1] > 1 or not repeatable(net.shape(other), shape):
        size = [d if layer.kernel[0] >> k & 1 else 1 for k, d in enumerate(shape[1:])]
        values = net.rng.integers(-128, 128, size)
        other = net.tensor(size, affine=(0.03, layer.zero_point), data=values)
    a, b = net.affine(x)[0], net.affine(other)[0]
    scale = {"MUL": 40 * a * b, "PRELU": max(a, 40 * a * b), "SQUARED_DIFFERENCE": 99 * max(a, b) ** 2}.get(kind, a + b)
    operands = (x, other) if layer.flag else (other, x)
    return [net.binary(kind, *operands, activation=layer.activation, out=(scale, layer.zero_point))]


def log_softmax(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    return [moving.log_softmax(net, x)] if net.shape(x)[-1] <= MOST_CLASSES else relu6(net, layer, x, x)


def embedded(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    return [net.gather(moving.arg_max(net, x, smallest=layer.flag), net.shape(x)[-1], layer.channels)]


def difference(net: Net, layer: Layer, x: int, other: int) -> list[int]:
    shape, dtype = net.shape(x), net.dtype(x)
    most = 1 << (15 if dtype == "INT16" else 7)
    if layer.stride[1] > 1 or not repeatable(net.shape(other), shape):
        size = [d if layer.kernel[0] >> k & 1 else 1 for k, d in enumerate(shape[1:])]
        zero_point = 0 if dtype == "INT16" else layer.zero_point
        other = net.tensor(size, dtype, (0.03, zero_point), data=net.rng.integers(-most, most, size))
    operands = (x, other) if layer.flag else (other, x)
    kinds = ("ADD", "SUB", "MUL", *(("MAXIMUM", "MINIMUM") if dtype == "INT16" else ()))
    kind, (a, b) = kinds[layer.channels % len(kinds)], (net.affine(t)[0] for t in (x, other))
    scale = a * b * most / 4 if kind == "MUL" else a + b
    return [scaled(net, layer, net.binary(kind, *operands, activation=layer.activation, out=(scale, 0)))]


def leaky(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    kind, options = "LEAKY_RELU", schema.LeakyReluOptionsT(alpha=layer.other / 4)
    if layer.channels % 4 == 0:
        kind, options = "ABS", None
    y = net.unary(kind, x, dtype=net.dtype(x), out=(net.affine(x)[0], 0), options=options)
    return [scaled(net, layer, y)]


def repeatable(shape: Sequence[int], whole: Sequence[int]) -> bool:
    return len(shape) == len(whole) and all(a in (1, b) for a, b in zip(shape, whole, strict=True))


def gated(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    return [excited(net, layer, x, net.mean(x, (1, 2)))]


def averaged(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    size = net.shape(x)[1:3]
    return [excited(net, layer, x, net.pool(x, kernel=size, stride=size))]


def columns(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    mean = net.mean(x, (1 if layer.other else 2,))
    y = net.conv2d(mean, net.shape(x)[3], kernel=layer.kernel, padding="SAME")
    if layer.channels % 2:
        return [net.binary("ADD", *((x, y) if layer.stride[0] > 1 else (y, x)), out=net.affine(x))]
    gate = net.unary("LOGISTIC", y, dtype=net.dtype(x), out=net.share(x))
    return [scaled(net, layer, net.binary("MUL", x, gate, out=net.affine(x)))]


def excited(net: Net, layer: Layer, x: int, mean: int) -> int:
    squeezed = net.conv2d(mean, layer.kernel[0], activation="RELU")
    gate = net.unary("LOGISTIC", net.conv2d(squeezed, net.shape(x)[3]), dtype=net.dtype(x), out=net.share(x))
    return net.binary("MUL", x, gate, out=net.affine(x))


def logistic(net: Net, _layer: Layer, x: int, _: int) -> list[int]:
    return [net.unary("LOGISTIC", x, dtype=net.dtype(x), out=net.share(x))]


def tanh(net: Net, _layer: Layer, x: int, _: int) -> list[int]:
    zero_point = 0 if net.dtype(x) == "INT16" else 5
    return [net.unary("TANH", x, dtype=net.dtype(x), out=(net.share(x)[0], zero_point))]


def looked_up(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """TFLM's RSQRT rejects values below the zero point."""
    kind = ("LEAKY_RELU", "HARD_SWISH", "TANH", "ABS", "ELU", "RSQRT")[layer.channels % 6]
    if kind == "RSQRT":
        x = net.add(x, x, out=(net.affine(x)[0], -128))
    options = schema.LeakyReluOptionsT(alpha=layer.other / 4) if kind == "LEAKY_RELU" else None
    scale = net.affine(x)[0] * 2.0 ** max(layer.spread, 0)
    return [net.unary(kind, x, out=(scale, layer.zero_point), options=options)]
