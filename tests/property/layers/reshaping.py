"""Each function adds a layer that moves, resizes or reduces tensors."""

import math

import moving
import numpy as np
from models import Net
from property.layers.layer import MAX_ELEMENTS, Layer, image, scaled


def reshape(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    elements = math.prod(net.shape(x))
    h = math.gcd(elements, 12 if layer.flag else 7)
    shapes = [(1, h, elements // h, 1), (1, elements // h, h), (1, elements), (1, elements // h, 1, h)]
    return [net.reshape(x, shapes[layer.channels % 4])]


def computed(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    shape = (1, math.prod(net.shape(x)[1:-1]), net.shape(x)[-1])
    return [moving.reshape_by(net, x, moving.computed_shape(net, x, shape, form=layer.channels % 3), shape)]


def concatenation(net: Net, layer: Layer, x: int, other: int) -> list[int]:
    """Concatenate two tensors, or copies of the first tensor if the second has another shape or scale."""
    axis = len(net.shape(x)) - 1 - layer.source % max(1, len(net.shape(x)) - 1)
    a, b = (tuple(d for n, d in enumerate(net.shape(t)) if n != axis) for t in (x, other))
    alike = a == b and len(net.shape(x)) == len(net.shape(other)) and net.affine(x) == net.affine(other)
    return [moving.concatenation(net, [x, other] if alike else [x] * (1 + layer.channels % 3), axis)]


def heads(net: Net, layer: Layer, x: int, other: int) -> list[int]:
    maps = [image(net, x), image(net, other)]
    if layer.flag and min(net.shape(maps[0])[1:3]) > 1:
        maps.append(net.pool(maps[0], kernel=(2, 2), stride=(2, 2)))
    out = (0.05, 0 if net.activations == "INT16" else layer.zero_point)
    made = [net.conv2d(m, layer.channels, out=out) for m in maps[:: -1 if layer.stride == (1, 1) else 1]]
    pixels = [net.reshape(m, (1, math.prod(net.shape(m)[:3]), layer.channels)) for m in made]
    return [moving.concatenation(net, pixels, 1)]


def split(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    axis = 1 + layer.channels % (len(net.shape(x)) - 1)
    size = net.shape(x)[axis]
    if layer.flag and size % 2 == 0:
        return moving.split(net, x, axis, 2)
    return moving.split_v(net, x, axis, [size // 2, size - size // 2]) if size > 1 else [x]


def stacked(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    rank = len(net.shape(x))
    most = max(2, MAX_ELEMENTS // math.prod(net.shape(x)))
    y = moving.pack(net, [x] * min(most, 2 + layer.other), 1 + layer.channels % (rank - 1))
    return moving.unpack(net, y, 1 + layer.source % rank)[:2]


def transposed(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    if layer.other == 6 and net.shape(x)[-1] % 4 == 0:
        return [pixels_of_channels(net, image(net, x))]
    groups = math.gcd(layer.channels, net.shape(x)[-1])
    if layer.other > 3 and groups > 1:
        return [shuffled(net, image(net, x), groups)]
    orders = ((0, 2, 1, 3), (0, 1, 3, 2), (0, 3, 1, 2), (0, 2, 3, 1), (0, 3, 2, 1))
    return [net.transpose(image(net, x), orders[layer.channels % 5])]


def channels_first(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    y = net.transpose(x, (0, 3, 1, 2))
    channels, dtype = net.shape(y)[1], net.dtype(y)
    if layer.other % 2:
        y = net.pad(y, [(0, 0), (0, 0), (layer.stride[0] - 1, 1), (1, layer.stride[1] - 1)])
    match layer.channels % 5:
        case 0:
            y = net.unary("RELU", y, dtype=dtype, out=net.affine(y))
        case 1:
            gains = net.tensor((1, channels, 1, 1), dtype, (0.02, 0), data=np.arange(1, channels + 1))
            y = net.binary("MUL", *((y, gains) if layer.flag else (gains, y)), out=net.affine(y))
        case 2:
            y = moving.concatenation(net, [y, y], 1)
        case 3:
            y = net.add(y, y)
        case 4:
            mean = net.mean(y, (2, 3) if layer.flag else (1 + layer.other % 3,))
            y = net.binary("ADD", y, mean, out=net.affine(y))
    if layer.kernel[0] == 2:
        return [y]
    z = net.transpose(y, (0, 2, 3, 1))
    return [z, y] if layer.kernel[0] == 1 else [z]


def shuffled(net: Net, x: int, groups: int) -> int:
    *image_, channels = net.shape(x)
    y = net.transpose(net.reshape(x, (*image_, groups, channels // groups)), (0, 1, 2, 4, 3))
    return net.reshape(y, (*image_, channels))


def pixels_of_channels(net: Net, x: int) -> int:
    _, h, w, c = net.shape(x)
    y = net.transpose(net.reshape(x, (h, w, c // 4, 2, 2)), (0, 3, 1, 4, 2))
    return net.reshape(y, (1, 2 * h, 2 * w, c // 4))


def repeated(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    return [moving.broadcast_to(net, net.mean(x, (1, 2) if layer.flag else (3,)), net.shape(x))]


def mirrored(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    if layer.kernel[0] == 1:
        return [moving.reverse(net, x, [1 + layer.channels % (len(net.shape(x)) - 1)])]
    amounts = [(0, 0)] + [(min(2, d - 1), min(n, d - 1)) for d, n in zip(net.shape(x)[1:], layer.stride, strict=False)]
    amounts += [(0, 0)] * (len(net.shape(x)) - len(amounts))
    return [moving.mirror_pad(net, x, amounts, reflect=layer.flag)]


def strided_slice(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    if layer.kernel[0] == 1:
        begin = [0, *(min(d - 1, layer.source) for d in net.shape(x)[1:])]
        return [moving.slice_(net, x, begin, [-1] * len(begin))]
    forms = (slice(None, None, -1), slice(1, None), slice(None, None, 2))
    axis = 1 + layer.channels % (len(net.shape(x)) - 1)
    chosen = forms[layer.source % 3] if net.shape(x)[axis] > 1 else slice(None)
    return [moving.strided_slice(net, x, [chosen if a == axis else slice(None) for a in range(len(net.shape(x)))])]


def blocks(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    _, h, w, c = net.shape(x)
    if layer.flag and h % 2 == w % 2 == 0:
        return [moving.space_to_depth(net, x, 2)]
    return [moving.depth_to_space(net, x, 2 if c % 4 == 0 else 1)]


def resize(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    _, h, w, _ = net.shape(x)
    size = (h * layer.stride[0], w * layer.stride[1]) if h * w <= 64 else (-(-h // 2), w)
    return [moving.resize(net, x, size, bilinear=layer.flag, half=layer.padding == "SAME")]


def resize_nearest(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    _, h, w, _ = net.shape(x)
    size = (h * layer.stride[0], w * layer.stride[1]) if h * w <= 64 else (-(-h // 2), w)
    return [moving.resize(net, x, size, corners=layer.flag)]


def tiled(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    if math.prod((*net.shape(x), *layer.stride)) > MAX_ELEMENTS:
        return [x]
    if layer.flag:
        return [moving.upsampling(net, x, layer.stride)]
    return [moving.tile(net, x, (1, *layer.stride, 1 + layer.channels % 2))]


def transpose_conv(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    x = image(net, x)
    stride = layer.stride if net.shape(x)[1] * net.shape(x)[2] <= 64 else (1, 1)
    y = moving.transpose_conv(
        net,
        x,
        layer.channels,
        kernel=layer.kernel,
        stride=stride,
        padding=layer.padding,
        per_channel=layer.flag,
        bias=layer.source != 1,
    )
    return [scaled(net, layer, y)]


def reduce(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    if layer.other > 3:
        return [grouped(net, layer, image(net, x))]
    kind = ("SUM", "REDUCE_MAX", "MEAN", "REDUCE_MIN")[layer.channels % 4]
    axes = [a for a in (1, 2, 3) if layer.kernel[0] >> (a - 1) & 1] or [3]
    y = moving.reduce(net, kind, image(net, x), axes, keep=layer.flag)
    return [y if kind.startswith("REDUCE") else scaled(net, layer, y)]


def grouped(net: Net, layer: Layer, x: int) -> int:
    *image_, channels = net.shape(x)
    groups = math.gcd(layer.channels, channels)
    x = net.reshape(x, (*image_, groups, channels // groups))
    kind = ("MEAN", "REDUCE_MAX")[layer.kernel[0] % 2]
    mean = moving.reduce(net, kind, x, (1, 2, 4) if layer.flag else (2, 4), keep=True)
    centred = net.binary("SUB", *((x, mean) if layer.source else (mean, x)), out=(0.1, layer.zero_point))
    gamma = net.tensor((1, 1, 1, groups, 1), affine=(0.02, 3), data=net.rng.integers(-100, 100, (1, 1, 1, groups, 1)))
    y = net.binary("MUL", centred, gamma, out=(0.1, layer.zero_point))
    return net.reshape(net.unary("RELU", y, dtype=net.dtype(y), out=net.affine(y)), (*image_, channels))
