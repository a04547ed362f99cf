"""Draw models of single operators from seeds, for the fit of the costs of TFLM's kernels (builtin_costs.py)."""

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ai_edge_litert import schema_py_generated as schema

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import moving
from memories import lstm, svdf
from models import Net, Pair
from streaming import Streaming

ONE: Pair = (1, 1)
CHANNELS = (1, 2, 3, 4, 4, 6, 7, 8, 8, 10, 12, 16, 16, 19, 20, 24, 30, 32, 32, 40, 48, 64, 66, 96, 128)
FEW = (1, 1, 2, 3, 3, 4)
MOST = 600_000
PER_MODEL = 4


def _shape(rng: random.Random, channels: Sequence[int] = CHANNELS, most: int = 24) -> tuple[int, ...]:
    c = rng.choice(channels)
    side = max(2, min(most, int((12_000 / c) ** 0.5)))
    return 1, rng.randint(1, side), rng.randint(1, side), c


def _line(rng: random.Random, channels: Sequence[int] = CHANNELS) -> tuple[int, ...]:
    length, c = rng.randint(4, 128), rng.choice(channels)
    return (1, 1, length, c) if rng.random() < 0.5 else (1, length, 1, c)


def _window(rng: random.Random, shape: Sequence[int], kernels: Sequence[Pair]) -> dict[str, object]:
    _, h, w, _ = shape
    fitting = [k for k in kernels if k[0] <= h and k[1] <= w]
    kernel = rng.choice(fitting) if fitting else (min(h, kernels[0][0]), min(w, kernels[0][1]))
    stride = rng.choice((ONE, ONE, (2, 2), (1, 2), (2, 1)))
    stride = min(stride[0], h), min(stride[1], w)
    return {"kernel": kernel, "stride": stride, "padding": rng.choice(("SAME", "VALID"))}


SQUARE: Sequence[Pair] = ((3, 3), (3, 3), (5, 5), (2, 2), (7, 7), (3, 1), (1, 5), (10, 4), (5, 4), (10, 8))
LINES: Sequence[Pair] = ((1, 3), (1, 5), (1, 7), (1, 16), (3, 1), (5, 1), (9, 1))
DEPTHWISE: Sequence[Pair] = ((5, 5), (7, 7), (5, 1), (9, 1), (21, 1), (1, 5), (2, 2), (3, 1), (4, 4))


def conv(net: Net, rng: random.Random, *, kernels: Sequence[Pair], few: bool = False, lines: bool = False) -> int:
    shape = (_line if lines else _shape)(rng, FEW if few else CHANNELS)
    window = _window(rng, shape, kernels)
    kernel: Pair = window["kernel"]  # type: ignore[assignment]
    each = shape[1] * shape[2] * shape[3] * kernel[0] * kernel[1]
    channels = max(1, min(rng.choice(CHANNELS), MOST // each))
    return net.conv2d(net.input(shape), channels, **window)  # type: ignore[arg-type]


def pointwise(net: Net, rng: random.Random) -> int:
    shape = (1, 1, 1, rng.choice(CHANNELS)) if rng.random() < 0.2 else _shape(rng)
    channels = max(1, min(rng.choice(CHANNELS), MOST // (shape[1] * shape[2] * shape[3])))
    return net.conv2d(net.input(shape), channels)


def dilated(net: Net, rng: random.Random, *, depthwise: bool = False) -> int:
    shape = _line(rng) if rng.random() < 0.5 else _shape(rng, CHANNELS[:16])
    kernel, dilation = ((1, 3), (1, 2)) if shape[1] == 1 else ((3, 1), (2, 1)) if shape[2] == 1 else ((3, 3), (2, 2))
    x = net.input((1, shape[1] + 6 * (shape[1] > 1), shape[2] + 6 * (shape[2] > 1), shape[3]))
    if depthwise:
        return net.depthwise_conv2d(x, kernel=kernel, dilation=dilation)
    return net.conv2d(x, rng.choice(CHANNELS[:18]), kernel=kernel, dilation=dilation, padding="VALID")


def depthwise(net: Net, rng: random.Random, *, kernels: Sequence[Pair], multipliers: Sequence[int] = (1,)) -> int:
    several = multipliers != (1,)
    shape = _line(rng) if kernels is LINES else _shape(rng, FEW if several else CHANNELS)
    window, multiplier = _window(rng, shape, kernels), rng.choice(multipliers)
    return net.depthwise_conv2d(net.input(shape), multiplier=multiplier, **window)  # type: ignore[arg-type]


def dense(net: Net, rng: random.Random, *, per_channel: bool = False, batches: int = 1) -> int:
    depth = rng.choice((3, 8, 10, 16, 30, 33, 64, 100, 128, 250, 320, 392, 640))
    units = max(1, min(rng.choice((1, 2, 3, 4, 8, 10, 16, 33, 64, 84, 120, 128)), 60_000 // depth))
    x = net.input((batches, depth))
    return net.fully_connected(x, units, batches=batches, per_channel=per_channel, bias=rng.random() < 0.9)


def pool(net: Net, rng: random.Random, *, kind: str) -> int:
    shape = _shape(rng)
    if rng.random() < 0.3:
        window: dict[str, Any] = {"kernel": shape[1:3], "stride": shape[1:3], "padding": "VALID"}
    else:
        window = _window(rng, shape, ((2, 2), (3, 3), (1, 2), (2, 1), (1, 4), (4, 3)))
    return net.pool(net.input(shape), kind=kind, **window)


def binary(net: Net, rng: random.Random, *, kind: str) -> int:
    shape = _shape(rng)
    other = shape if rng.random() < 0.6 else rng.choice(((1, 1, 1, shape[3]), (1, 1, 1, 1)))
    return net.binary(kind, net.input(shape), net.input(other), out=(0.2, 0))


def unary(
    net: Net, rng: random.Random, *, kind: str, out: tuple[float, int] = (0.05, 3), options: object = None
) -> int:
    x = net.input(_shape(rng), (0.05, 3))
    return net.unary(kind, x, out=net.affine(x) if kind == "NEG" else out, dtype=net.activations, options=options)


def sigmoid(net: Net, rng: random.Random, *, kind: str) -> int:
    wide = net.activations == "INT16"
    x = net.input(
        _shape(rng), (2.0**-12, 0) if wide else (rng.choice((0.02, 0.06, 0.1, 0.3, 1.5, 3.0)), rng.randint(-30, 30))
    )
    out = (2.0**-15, 0) if wide else (1 / 256, -128) if kind == "LOGISTIC" else (1 / 128, 0)
    return net.unary(kind, x, out=out, dtype=net.activations)


def converted(net: Net, rng: random.Random, *, kind: str, source: str, target: str) -> int:
    affine = {"FLOAT32": None, "INT16": (0.001, 0), "UINT8": (0.05, 128)}
    x = net.input(_shape(rng), affine.get(source, (0.05, 3)), dtype=source)
    return net.unary(kind, x, dtype=target, out=affine.get(target, (0.04, 1)))


def softmax(net: Net, rng: random.Random) -> int:
    rows, columns = rng.randint(1, 40), rng.choice((2, 3, 4, 10, 12, 16, 40))
    affine = rng.choice((0.02, 0.05, 0.1, 0.2, 0.6)), 0
    return net.softmax(net.input((rows, columns) if rng.random() < 0.6 else (1, rows, columns), affine))


def reduced(net: Net, rng: random.Random, *, kind: str) -> int:
    axes = rng.choice(((1, 2), (1, 2), (1,), (2,), (3,)))
    return moving.reduce(net, kind, net.input(_shape(rng)), axes, keep=rng.random() < 0.5, out=(0.05, -3))


def joined(net: Net, rng: random.Random) -> int:
    shape, axis, count = _shape(rng), rng.choice((1, 2, 3, 3)), rng.randint(2, 4)
    parts = []
    for _ in range(count):
        own = list(shape)
        own[axis] = max(1, rng.randint(1, 2 * shape[axis]))
        parts.append(net.input(own))
    return moving.concatenation(net, parts, axis)


def padded(net: Net, rng: random.Random) -> int:
    amounts = [(0, 0), *((rng.randint(0, 3), rng.randint(0, 3)) for _ in range(2)), (0, 0)]
    return net.pad(net.input(_shape(rng)), amounts)


def sliced(net: Net, rng: random.Random, *, strided: bool) -> int:
    shape = _shape(rng)
    begin = [rng.randrange(d) for d in shape]
    size = [rng.randint(1, d - b) for d, b in zip(shape, begin, strict=True)]
    if not strided:
        return moving.slice_(net, net.input(shape), begin, size)
    steps = rng.choice((1, 1, 1, 2))
    slices = [slice(b, b + s, steps) for b, s in zip(begin, size, strict=True)]
    return moving.strided_slice(net, net.input(shape), slices)


def parted(net: Net, rng: random.Random) -> int:
    shape, axis = _shape(rng), rng.choice((1, 2, 3))
    whole = list(shape)
    whole[axis] *= 2
    return moving.split(net, net.input(whole), axis, 2)[0]


def packed(net: Net, rng: random.Random) -> int:
    shape = _shape(rng)
    return moving.pack(net, [net.input(shape[1:]) for _ in range(rng.randint(2, 4))], rng.randint(0, 2))


def reshaped(net: Net, rng: random.Random) -> int:
    n, h, w, c = _shape(rng)
    return net.reshape(net.input((n, h, w, c)), (n, h * w, c))


def transposed(net: Net, rng: random.Random) -> int:
    order = rng.choice(((0, 2, 1, 3), (0, 3, 1, 2), (0, 1, 3, 2), (0, 2, 3, 1)))
    return net.transpose(net.input(_shape(rng)), order)


def resized(net: Net, rng: random.Random, *, bilinear: bool) -> int:
    _, h, w, _ = shape = _shape(rng, CHANNELS[:20], 12)
    k = rng.choice((2, 2, 3))
    half = bilinear and rng.random() < 0.5
    return moving.resize(net, net.input(shape), (k * h, k * w), bilinear=bilinear, half=half)


def blocks(net: Net, rng: random.Random, *, apart: bool) -> int:
    _, h, w, c = _shape(rng, CHANNELS[:16], 10)
    if apart:
        return moving.depth_to_space(net, net.input((1, h, w, 4 * c)), 2)
    return moving.space_to_depth(net, net.input((1, 2 * h, 2 * w, c)), 2)


def backwards(net: Net, rng: random.Random) -> int:
    shape = _shape(rng, (1, 3, 4, 8, 12, 15, 16, 20, 24, 32), 10)
    kernel, stride = rng.choice(((2, 2), (3, 3), (4, 4), (5, 5), (3, 1))), rng.choice((ONE, (2, 2), (2, 2)))
    kernel = max(kernel[0], stride[0]), max(kernel[1], stride[1])
    channels = max(
        1, min(rng.choice((1, 1, 2, 4, 8, 12, 16)), MOST // (shape[1] * shape[2] * shape[3] * kernel[0] * kernel[1]))
    )
    return moving.transpose_conv(net, net.input(shape), channels, kernel=kernel, stride=stride, padding="SAME")


def recurrent(net: Net, rng: random.Random) -> int:
    x = net.input((1, rng.randint(1, 28), rng.choice((3, 8, 16, 28, 40))), (0.05, 3))
    return lstm(net, x, rng.choice((4, 8, 12, 20, 32)))


def remembering(net: Net, rng: random.Random) -> int:
    x = net.input((1, rng.choice((8, 16, 40, 64))), (0.05, -3))
    return svdf(net, x, rng.choice((4, 16, 48, 64)), rank=rng.choice((1, 1, 2)), memory=rng.choice((2, 4, 6, 8)))


def multiplied(net: Net, rng: random.Random) -> int:
    m, k, n = rng.choice((1, 4, 8, 16, 30)), rng.choice((4, 8, 16, 32, 33)), rng.choice((4, 8, 16, 30, 32))
    adjoint = rng.random() < 0.5
    right = net.input((1, n, k) if adjoint else (1, k, n))
    return net.batch_matmul(net.input((1, m, k)), right, adjoint=adjoint, out=(0.08, 0))


def indexed(net: Net, rng: random.Random) -> int:
    return net.gather(net.input((1, rng.randint(1, 20)), None, dtype="INT32"), 6, rng.choice((1, 4, 16, 32)))


def kept(net: Net, rng: random.Random) -> int:
    streaming = Streaming(net, setup=False)
    shape = _shape(rng)
    y = net.add(
        net.input(shape, (0.05, 0)), streaming.read(f"v{len(net.graph.tensors)}", shape, (0.05, 0)), out=(0.05, 0)
    )
    streaming.assign(next(reversed(streaming.handles)), y)
    return y


def chosen(net: Net, rng: random.Random) -> int:
    return moving.arg_max(net, net.input(_shape(rng)), smallest=rng.random() < 0.5)


Builder = Callable[[Net, random.Random], int]
LEAKY = schema.LeakyReluOptionsT(alpha=0.1)
INT8: Mapping[str, Builder] = {
    "conv_point": pointwise,
    "conv_point_strided": partial(conv, kernels=(ONE,)),
    "conv_square": partial(conv, kernels=SQUARE),
    "conv_few": partial(conv, kernels=SQUARE, few=True),
    "conv_line": partial(conv, kernels=LINES, lines=True),
    "conv_line_few": partial(conv, kernels=LINES, lines=True, few=True),
    "conv_dilated": dilated,
    "depthwise_3x3": partial(depthwise, kernels=((3, 3),)),
    "depthwise_any": partial(depthwise, kernels=DEPTHWISE),
    "depthwise_line": partial(depthwise, kernels=LINES),
    "depthwise_fours": partial(depthwise, kernels=SQUARE, multipliers=(4, 8, 8, 16)),
    "depthwise_several": partial(depthwise, kernels=SQUARE, multipliers=(2, 3, 5)),
    "depthwise_dilated": partial(dilated, depthwise=True),
    "dense": dense,
    "dense_per_channel": partial(dense, per_channel=True),
    "dense_batches": partial(dense, batches=5),
    "pool_average": partial(pool, kind="AVERAGE_POOL_2D"),
    "pool_most": partial(pool, kind="MAX_POOL_2D"),
    **{
        kind.lower(): partial(binary, kind=kind)
        for kind in ("ADD", "MUL", "SUB", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
    },
    "softmax": softmax,
    **{kind.lower(): partial(unary, kind=kind) for kind in ("RELU", "RELU6", "HARD_SWISH", "ABS", "NEG")},
    "logistic": partial(sigmoid, kind="LOGISTIC"),
    "tanh": partial(sigmoid, kind="TANH"),
    "leaky_relu": partial(unary, kind="LEAKY_RELU", options=LEAKY),
    "elu": partial(unary, kind="ELU"),
    **{kind.lower(): partial(reduced, kind=kind) for kind in ("MEAN", "SUM", "REDUCE_MAX")},
    "concatenation": joined,
    "pad": padded,
    "slice": partial(sliced, strided=False),
    "strided_slice": partial(sliced, strided=True),
    "split": parted,
    "pack": packed,
    "reshape": reshaped,
    "transpose": transposed,
    "resize_nearest": partial(resized, bilinear=False),
    "resize_bilinear": partial(resized, bilinear=True),
    "depth_to_space": partial(blocks, apart=True),
    "space_to_depth": partial(blocks, apart=False),
    "transpose_conv": backwards,
    "lstm": recurrent,
    "svdf": remembering,
    "batch_matmul": multiplied,
    "gather": indexed,
    "variable": kept,
    "arg_max": chosen,
    **{
        f"{kind.lower()}_{source.lower()}_{target.lower()}": partial(converted, kind=kind, source=source, target=target)
        for kind, source, target in (
            ("QUANTIZE", "FLOAT32", "INT8"), ("QUANTIZE", "INT8", "INT8"), ("QUANTIZE", "UINT8", "INT8"),
            ("QUANTIZE", "INT16", "INT8"), ("QUANTIZE", "INT8", "INT16"), ("QUANTIZE", "INT8", "UINT8"),
            ("DEQUANTIZE", "INT8", "FLOAT32"), ("DEQUANTIZE", "INT16", "FLOAT32"),
        )
    },
}  # fmt: skip
INT16: Sequence[str] = (
    "conv_point", "conv_square", "conv_few", "depthwise_3x3", "depthwise_any", "dense", "pool_average", "pool_most",
    "add", "mul", "sub", "logistic", "tanh", "leaky_relu", "concatenation", "pad", "slice", "strided_slice", "reshape",
    "transpose_conv",
)  # fmt: skip
FAMILIES: Mapping[str, tuple[Builder, str]] = {
    **{name: (build, "INT8") for name, build in INT8.items()},
    **{f"{name}_int16": (INT8[name], "INT16") for name in INT16},
}


def model(family: str, number: int, operators: int = PER_MODEL) -> bytes:
    """A model with fewer operators has the first operators of the larger model."""
    build, activations = FAMILIES[family]
    rng = random.Random(f"{family} {number}")
    net = Net(number, activations=activations)
    return net.model(*(build(net, rng) for _ in range(operators)))
