"""Make int8 .tflite models with given layer shapes and random weights.

Scales are chosen so that activations are seldom clamped and every channel influences the output. A PAD precedes a
convolution whose padding is not TFLite's SAME.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from models import Net

SCALE = 0.05
WEIGHT_SPREAD = 127 / math.sqrt(3)
"""Standard deviation of random weights, which are uniform from -127 to 127."""
Pair = Sequence[int]


class Builder:
    """The methods take and return indices of tensors."""

    def __init__(self, seed: int = 0) -> None:
        self.net = Net(seed)
        self.net.tree.description = "benchmark"
        self.rng, self.model, self.shape = self.net.rng, self.net.model, self.net.shape

    def input(self, shape: Sequence[int], *, indices: bool = False) -> int:
        tensor = self.net.tensor(shape, "INT32", None) if indices else self._activation(shape)
        self.net.graph.inputs.append(tensor)
        return tensor

    def conv(
        self,
        x: int,
        channels: int,
        kernel: Pair,
        stride: Pair,
        pad: Pair,
        out: Pair,
        *,
        depthwise: bool,
        same: bool = False,
    ) -> int:
        """The argument `pad` is the padding at the top and at the left. If the argument `same` is true, TFLite's
        padding SAME is used.
        """
        _, h, w, deep = self.shape(x)
        after = [
            max(0, (o - 1) * s + k - p - n) for o, s, k, p, n in zip(out, stride, kernel, pad, (h, w), strict=True)
        ]
        if any((*pad, *after)) and not same:
            x = self._pad(x, [(0, 0), *zip(pad, after, strict=True), (0, 0)])
        filter_shape = (1, *kernel, channels) if depthwise else (channels, *kernel, deep)
        taps = math.prod(map(_taps, (h, w), kernel, stride, pad, out)) * (1 if depthwise else deep)
        constants = self._weights(x, filter_shape, 3 if depthwise else 0, taps)
        padding = schema.Padding.SAME if same else schema.Padding.VALID
        window = {"padding": padding, "strideH": stride[0], "strideW": stride[1]}
        options = (
            schema.DepthwiseConv2DOptionsT(**window, depthMultiplier=1, dilationHFactor=1, dilationWFactor=1)
            if depthwise
            else schema.Conv2DOptionsT(**window, dilationHFactor=1, dilationWFactor=1)
        )
        kind = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
        return self._op(kind, [x, *constants], self._activation((1, *out, channels)), options)

    def dense(self, x: int, units: int) -> int:
        depth = math.prod(self.shape(x))
        constants = self._weights(x, (units, depth), 0, depth)
        return self._op(
            "FULLY_CONNECTED", [x, *constants], self._activation((1, units)), schema.FullyConnectedOptionsT()
        )

    def add(self, a: int, b: int) -> int:
        return self._op("ADD", [a, b], self._activation(self.shape(a), 1.2 * self._scale(a)), schema.AddOptionsT())

    def same(
        self, x: int, channels: int, kernel: int | Pair = 1, stride: int | Pair = 1, *, depthwise: bool = False
    ) -> int:
        size, kernel, stride = self.shape(x)[1:3], *(_pair(one) for one in (kernel, stride))
        out = [-(-n // s) for n, s in zip(size, stride, strict=True)]
        each = zip(size, kernel, stride, out, strict=True)
        pad = [max(0, (o - 1) * s + k - n) // 2 for n, k, s, o in each]
        return self.conv(x, channels, kernel, stride, pad, out, depthwise=depthwise, same=True)

    def concatenation(self, parts: Sequence[int]) -> int:
        *spatial, _ = self.shape(parts[0])
        shape = (*spatial, sum(self.shape(x)[-1] for x in parts))
        y = self._activation(shape, *self.net.affine(parts[0]))
        return self._op("CONCATENATION", parts, y, schema.ConcatenationOptionsT(axis=3))

    def space_to_depth(self, x: int, block: int) -> int:
        _, h, w, channels = self.shape(x)
        y = self._activation((1, h // block, w // block, channels * block**2), *self.net.affine(x))
        return self._op("SPACE_TO_DEPTH", [x], y, schema.SpaceToDepthOptionsT(blockSize=block))

    def pool(self, x: int, kernel: int | Pair, stride: int | Pair, *, average: bool, same: bool = True) -> int:
        _, *size, channels = self.shape(x)
        (high, wide), (down, right) = kernel, stride = _pair(kernel), _pair(stride)
        sides = {"filterHeight": high, "filterWidth": wide, "strideH": down, "strideW": right}
        less = (0, 0) if same else (high - 1, wide - 1)
        shape = (1, *(-(-(n - one) // s) for n, one, s in zip(size, less, stride, strict=True)), channels)
        y = self._activation(shape, *self.net.affine(x))
        kind = "AVERAGE_POOL_2D" if average else "MAX_POOL_2D"
        padding = schema.Padding.SAME if same else schema.Padding.VALID
        return self._op(kind, [x], y, schema.Pool2DOptionsT(padding=padding, **sides))

    def mul(self, a: int, b: int) -> int:
        shape = np.broadcast_shapes(self.shape(a), self.shape(b))
        return self._op("MUL", [a, b], self._activation(shape), schema.MulOptionsT())

    def mean(self, x: int, *, keep: bool = False) -> int:
        """Add MEAN over all dimensions except channels. If the argument `keep` is true, the averaged dimensions stay
        with size 1.
        """
        *spatial, channels = self.shape(x)
        axes = self.net.tensor((len(spatial) - 1,), "INT32", None, data=np.arange(1, len(spatial)))
        shape = (1, 1, 1, channels) if keep else (1, channels)
        y = self._activation(shape, self._scale(x) / math.sqrt(math.prod(spatial)))
        return self._op("MEAN", [x, axes], y, schema.ReducerOptionsT(keepDims=keep))

    def softmax(self, x: int) -> int:
        y = self._activation(self.shape(x), 1 / 256, -128)
        return self._op("SOFTMAX", [x], y, schema.SoftmaxOptionsT(beta=1.0))

    def gather(self, indices: int, rows: int, width: int) -> int:
        table = self.net.tensor((rows, width), affine=(SCALE, 0), data=self.rng.integers(-128, 128, (rows, width)))
        return self._op(
            "GATHER", [table, indices], self._activation((*self.shape(indices), width)), schema.GatherOptionsT()
        )

    def _pad(self, x: int, amounts: Sequence[Pair]) -> int:
        paddings = self.net.tensor((4, 2), "INT32", None, data=amounts)
        shape = [n + sum(pair) for n, pair in zip(self.shape(x), amounts, strict=True)]
        return self._op("PAD", [x, paddings], self._activation(shape, *self.net.affine(x)), schema.PadOptionsT())

    def _weights(self, x: int, shape: Sequence[int], axis: int, taps: float) -> list[int]:
        """Return a filter and a bias with scales that make the outputs vary as much as the inputs."""
        channels = shape[axis]
        product = SCALE * self.rng.uniform(0.7, 1.4, channels) / (WEIGHT_SPREAD * math.sqrt(taps))
        scales = (product / self._scale(x)).tolist()
        filter_ = self.net.tensor(shape, data=self.rng.integers(-127, 128, shape), scales=scales, axis=axis)
        bias = self.rng.normal(0, 10 * WEIGHT_SPREAD * math.sqrt(taps), channels).astype(np.int32)
        return [filter_, self.net.tensor((channels,), "INT32", data=bias, scales=product.tolist())]

    def _activation(self, shape: Sequence[int], scale: float = SCALE, zero_point: int | None = None) -> int:
        zero = int(self.rng.integers(-10, 11)) if zero_point is None else zero_point
        return self.net.tensor(shape, affine=(scale, zero))

    def _op(self, kind: str, inputs: Sequence[int], output: int, options: Any) -> int:
        return self.net.op(kind, inputs, [output], options)

    def _scale(self, tensor: int) -> float:
        return self.net.affine(tensor)[0]


def _pair(sizes: int | Pair) -> Pair:
    return (sizes, sizes) if isinstance(sizes, int) else sizes


def _taps(size: int, kernel: int, stride: int, pad: int, out: int) -> float:
    """Return the average number of window elements that lie inside the input, along one dimension.

    >>> _taps(4, 3, 1, 1, 4)
    2.5
    """
    first = [y * stride - pad for y in range(out)]
    return sum(min(size, y + kernel) - max(0, y) for y in first) / out


def from_layers(layers: Sequence[Mapping[str, Any]], seed: int = 0) -> bytes:
    """Return a model with the layers of a list, as in msf-CNN's JSON files.

    A layer is an object with the keys "name", "type", "k", "s", "p", "h", "w", "cin", "ho", "wo" and "cout". Kernel
    "k", stride "s" and padding "p" are [rows, columns]. For a layer of the type "add", the key "skip" is the index of
    the layer whose input is also the second operand.
    """
    net, first = Builder(seed), layers[0]
    read = [net.input((1, first["h"], first["w"], first["cin"]))]
    for layer in layers:
        read.append(_layer(net, layer, read))
    return net.model(read[-1])


def _layer(net: Builder, layer: Mapping[str, Any], read: Sequence[int]) -> int:
    x = read[-1]
    match layer["type"]:
        case "conv" | "pw" | "dw" as kind:
            geometry = layer["cout"], layer["k"], layer["s"], layer["p"], (layer["ho"], layer["wo"])
            return net.conv(x, *geometry, depthwise=kind == "dw")
        case "add":
            return net.add(x, read[layer["skip"]])
        case "gap":
            return net.mean(x)
        case "avgpool":
            return net.pool(x, layer["k"], layer["k"], average=True, same=False)
        case "fc":
            return net.dense(x, layer["cout"])
    raise ValueError(f"layer '{layer['name']}' has the unknown type '{layer['type']}'")
