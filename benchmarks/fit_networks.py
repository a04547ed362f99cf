"""Draw random networks from seeds, for the fit of the estimates of instructions (costs.py).

A seed selects one family of networks, such as image classifiers or rare operators. Each seed from KNOWN_FROM on selects
a network of tests/known.py.
"""

import math
import random
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import known
from in_sums import in_parts
from memories import lstm
from models import Net, Pair
from moving import arg_max, concatenation, log_softmax, resize, split, transpose_conv
from poses import floats, gather_nd, two
from property.layers import INT16, SUPPORTED, Layer
from property.layers.computing import TWO_OPERANDS
from property.networks import Recipe, build
from streaming import Streaming

ONE: Pair = (1, 1)
CHANNELS = (1, 2, 3, 4, 6, 8, 8, 10, 12, 14, 16, 16, 20, 24, 24, 30, 32, 32, 40, 48, 64, 64, 72, 96, 128, 160, 240)
KERNELS = (ONE, ONE, (3, 3), (3, 3), (3, 3), (5, 5), (7, 7), (2, 2), (3, 1), (1, 5), (5, 1), (9, 1), (10, 4))
MOST_MACS, MOST_BYTES = 3_000_000, 60_000


class Drawn:
    """A network in which each layer reads the output of the previous layer."""

    def __init__(self, seed: int, shape: Sequence[int]) -> None:
        self.rng, self.net = random.Random(seed), Net(seed)
        self.x = self.net.input(shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.net.shape(self.x)

    def window(self, kernels: Sequence[Pair] = KERNELS) -> dict[str, object]:
        _, h, w, _ = self.shape
        kernel = self.rng.choice([k for k in kernels if k[0] <= h and k[1] <= w] or [ONE])
        stride = self.rng.choice((ONE, ONE, ONE, (2, 2), (2, 1)))
        stride = min(stride[0], h), min(stride[1], w)
        return {"kernel": kernel, "stride": stride, "padding": self.rng.choice(("SAME", "SAME", "SAME", "VALID"))}

    def activated(self, y: int, activation: str) -> None:
        """As in a trained model, most outputs after a ReLU are quantized so that int8's lowest value stands for 0."""
        if activation != "NONE" and self.rng.random() < 0.8:
            q = self.net.graph.tensors[y].quantization
            q.zeroPoint = np.array([-128], np.int64)
            if activation == "RELU6":
                q.scale = np.array([6 / 255], np.float32)
        self.x = y

    def conv(
        self, channels: int = 0, kernels: Sequence[Pair] = KERNELS, activation: str = "", **options: object
    ) -> None:
        channels = channels or self.rng.choice(CHANNELS)
        window = self.window(kernels) | options
        if self._macs(window) * channels * self.shape[3] > MOST_MACS:
            window["kernel"] = ONE
        if (
            self._macs(window) * channels * self.shape[3] <= MOST_MACS
            and self.bytes * channels <= MOST_BYTES * self.shape[3]
        ):
            activation = activation or self.rng.choice(("NONE", "RELU", "RELU6"))
            self.activated(self.net.conv2d(self.x, channels, activation=activation, **window), activation)  # type: ignore[arg-type]

    def depthwise(self, kernels: Sequence[Pair] = KERNELS[2:], **options: object) -> None:
        multiplier = self.rng.choice((1, 1, 1, 1, 1, 2, 8)) if self.shape[3] <= 8 else 1
        activation = self.rng.choice(("NONE", "RELU", "RELU", "RELU6"))
        window: dict[str, Any] = self.window(kernels) | options
        y = self.net.depthwise_conv2d(self.x, multiplier=multiplier, activation=activation, **window)
        self.activated(y, activation)

    def inverted(self) -> None:
        before, shape = self.x, self.shape
        wide = min(240, shape[3] * self.rng.choice((2, 3, 4, 6)))
        self.conv(wide, (ONE,), stride=ONE)
        stride = self.rng.choice((ONE, ONE, (2, 2)))
        self.depthwise(
            ((3, 3), (3, 3), (5, 5), (7, 7)),
            stride=(min(stride[0], shape[1]), min(stride[1], shape[2])),
            padding="SAME",
        )
        if self.rng.random() < 0.3:
            self.gate()
        self.conv(self.rng.choice((shape[3], self.rng.choice(CHANNELS[3:16]))), (ONE,), "NONE", stride=ONE)
        if self.shape == shape:
            self.x = self.net.add(*((before, self.x) if self.rng.random() < 0.5 else (self.x, before)))

    def gate(self) -> None:
        c = self.shape[3]
        y = (
            self.net.mean(self.x, (1, 2))
            if self.rng.random() < 0.5
            else self.net.pool(self.x, kernel=_size(self.shape), padding="VALID")
        )
        y = self.net.conv2d(y, max(4, c // 4), activation="RELU")
        y = self.net.unary("LOGISTIC", self.net.conv2d(y, c), out=(1 / 256, -128))
        self.x = self.net.binary("MUL", self.x, y, out=self.net.affine(self.x))

    def residual(self, kernels: Sequence[Pair] = ((3, 3), ONE)) -> None:
        before = self.x
        self.conv(self.shape[3], kernels, stride=ONE, padding="SAME")
        self.conv(self.shape[3], (kernels[-1], ONE), "NONE", stride=ONE, padding="SAME")
        if self.x != before:
            activation = self.rng.choice(("NONE", "RELU"))
            self.activated(self.net.add(before, self.x, activation=activation), activation)

    def pool(self) -> None:
        window = self.window(((2, 2), (3, 3), (2, 1), (1, 4)))
        self.x = self.net.pool(self.x, kind=self.rng.choice(("MAX_POOL_2D", "AVERAGE_POOL_2D")), **window)  # type: ignore[arg-type]

    def table(self) -> None:
        self.x = self.net.unary(self.rng.choice(("LOGISTIC", "TANH")), self.x, out=(1 / 128, 0))

    def dense(self, channels: int) -> None:
        activation = self.rng.choice(("NONE", "RELU"))
        self.activated(self.net.fully_connected(self.x, channels, activation=activation), activation)

    def tail(self) -> None:
        rng, (_, h, w, c) = self.rng, self.shape
        match rng.randrange(5):
            case 0:
                self.x = self.net.mean(self.x, (1, 2), keep=rng.random() < 0.5)
            case 1 | 2:
                self.x = self.net.pool(self.x, kernel=(h, w), stride=(h, w), padding="VALID")
            case 3 if h * w * c > 4096:
                return
        if rng.random() < 0.7 and math.prod(self.shape) <= 8192:
            self.dense(rng.choice((2, 4, 10, 12)))
            self.x = self.net.softmax(self.x) if rng.random() < 0.7 else self.x

    @property
    def bytes(self) -> int:
        return math.prod(self.shape)

    def _macs(self, window: dict[str, Any]) -> int:
        (kernel_h, kernel_w), (stride_h, stride_w) = window["kernel"], window["stride"]
        return int(kernel_h * kernel_w * -(-self.shape[1] // stride_h) * -(-self.shape[2] // stride_w))


def image(seed: int) -> bytes:
    rng = random.Random(seed)
    w, c = rng.randint(4, 48), rng.choice((1, 3, 3, 4, 8, 16, 24))
    drawn = Drawn(seed, (1, rng.randint(4, max(4, min(48, 20_000 // w // c))), w, c))
    steps: Sequence[Callable[[], None]] = (
        drawn.conv, drawn.conv, drawn.conv, drawn.depthwise, drawn.depthwise, drawn.inverted, drawn.inverted,
        drawn.residual, drawn.pool, drawn.table,
    )  # fmt: skip
    for _ in range(rng.randint(1, 4)):
        rng.choice(steps)()
    drawn.tail()
    return drawn.net.model(drawn.x)


def over_time(seed: int) -> bytes:
    """Draw a network with one-dimensional windows, for frames of sound or sensor data."""
    rng = random.Random(seed)
    frames, c = rng.randint(8, 60), rng.choice((3, 6, 9, 16, 40, 40, 64, 128))
    tall = rng.random() < 0.6
    drawn = Drawn(seed, (1, frames, 1, c) if tall else (1, 1, frames, c))
    kernels: Sequence[Pair] = [(k, 1) if tall else (1, k) for k in (3, 5, 7, 9, 13)]
    for _ in range(rng.randint(1, 3)):
        if rng.random() < 0.6:
            drawn.depthwise(kernels, stride=ONE)
            drawn.conv(rng.choice((16, 24, 40, 48, 64, 100, 128)), (ONE,), stride=ONE)
        else:
            drawn.conv(rng.choice((8, 16, 30, 40, 64)), kernels, stride=ONE)
        if rng.random() < 0.4:
            drawn.residual(kernels)
    drawn.tail()
    return drawn.net.model(drawn.x)


def dense(seed: int) -> bytes:
    rng = random.Random(seed)
    drawn = Drawn(seed, (1, rng.choice((8, 30, 64, 100, 128, 250, 392, 640))))
    for _ in range(rng.randint(1, 4)):
        drawn.dense(rng.choice((3, 8, 10, 16, 30, 32, 64, 100, 128, 128, 200, 256, 640)))
    return drawn.net.model(drawn.x)


def small(seed: int, *, wide: bool = False) -> bytes:
    """Draw a network that may have any operator, as in the random tests, with int16 activations if `wide` is true."""
    rng = random.Random(seed)
    channels, width = rng.choice((1, 3, 4, 8, 16, 32)), rng.randint(3, 16)
    shape = (1, rng.randint(3, max(3, min(24, 4096 // channels // width))), width, channels)
    layers = [
        Layer(
            rng.choice(INT16 if wide else tuple(SUPPORTED)), channels=rng.choice(CHANNELS[2:-4]),
            kernel=rng.choice((ONE, (2, 2), (3, 3))), stride=rng.choice((ONE, (2, 2))), flag=rng.random() < 0.5,
        ) for _ in range(5)
    ]  # fmt: skip
    return build(Recipe((shape,), tuple(layers), seed=seed, inside="INT16" if wide else "INT8"))


def rare(seed: int) -> bytes:
    rng = random.Random(seed)
    h, w, c = rng.randint(2, 12), rng.randint(2, 12), rng.choice((4, 8, 24))
    net = Net(seed)
    x = net.input((1, h, w, c))
    outputs = [net.binary(kind, x, net.input((1, h, w, c)), out=(0.2, 3)) for kind in TWO_OPERANDS]
    outputs.append(arg_max(net, x))
    if seed // len(FAMILIES) % 2:  # LOG_SOFTMAX needs a libm.
        outputs += [log_softmax(net, x), *decoded(net, x)]
    outputs.append(net.gather(net.input((1, h * w), None, dtype="INT32"), 1, c))
    rows = net.reshape(x, (1, h * w, c))
    other = net.reshape(x, (1, c, h * w))
    products = [
        net.batch_matmul(rows, rows, adjoint=True, out=(0.5, 0)),
        net.batch_matmul(rows, other, adjoint=False, out=(0.5, 0)),
    ]
    steps = net.input((1, rng.randint(1, 6), rng.choice((3, 8, 24, 40))), (0.05, 3))
    outputs += [net.int4(net.conv2d(x, rng.choice((4, 10)), kernel=(3, 3))), net.int4(net.depthwise_conv2d(x))]
    outputs += compared(net, x, rng)
    return net.model(*outputs, *products, lstm(net, steps, rng.choice((4, 7, 16, 32))))


def decoded(net: Net, x: int) -> list[int]:
    """Add the last operators of pose networks and detectors, such as ARG_MAX and GREATER."""
    _, h, w, c = shape = net.shape(x)
    real = net.unary("DEQUANTIZE", x, dtype="FLOAT32", out=None)
    mask = two(net, "LESS", real, floats(net, [0.5]), "BOOL")
    other, chosen = net.tensor((c,), affine=net.affine(x), data=np.arange(c)), net.tensor(shape, affine=net.affine(x))
    net.op("SELECT_V2", [mask, x, other], [chosen], schema.SelectV2OptionsT())
    places = arg_max(net, net.reshape(x, (1, h * w, c)), axis=1)
    pairs = net.reshape(two(net, "ADD", places, places), (1, 1, 1, c))
    at = net.reshape(places, (c, 1))
    pixels = gather_nd(net, net.reshape(x, (h * w, c)), at)
    return [chosen, pairs, pixels, two(net, "DIV", real, floats(net, np.full(shape[-1:], 3)))]


def compared(net: Net, x: int, rng: random.Random) -> list[int]:
    shape, like = net.shape(x), net.affine(x)
    other, limits = net.input(shape, like), net.tensor(shape[3:], affine=like, data=np.arange(shape[3]))
    kinds = rng.sample(("LESS", "LESS_EQUAL", "EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL"), 2)
    masks = [two(net, kind, x, operand, "BOOL") for kind, operand in zip(kinds, (other, limits), strict=True)]
    chosen = net.tensor(shape, affine=like)
    net.op("SELECT_V2", [masks[0], x, other], [chosen], schema.SelectV2OptionsT())
    return [masks[1], chosen]


def rare_int16(seed: int) -> bytes:
    rng = random.Random(seed)
    h, w, c = rng.randint(2, 12), rng.randint(2, 12), rng.choice((1, 4, 8, 24))
    net = Net(seed, activations="INT16")
    x, other = net.input((1, h, w, c)), net.input((1, h, w, c) if rng.random() < 0.5 else (c,))
    kernel, stride = rng.choice((ONE, (3, 3), (4, 2))), rng.choice((ONE, (2, 2)))
    leaky = schema.LeakyReluOptionsT(alpha=0.3)
    rows = net.reshape(x, (1, h * w, c))
    return net.model(
        *(net.binary(kind, x, other, out=(0.2, 0)) for kind in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM")),
        net.unary("LEAKY_RELU", x, dtype="INT16", out=(0.05, 0), options=leaky),
        *(net.unary(kind, x, dtype="INT16", out=net.share(x)) for kind in ("LOGISTIC", "TANH")),
        net.softmax(x),
        net.batch_matmul(rows, rows, adjoint=True, out=(0.5, 0)),
        *(
            net.pool(x, kind=kind, kernel=kernel, stride=stride, padding="SAME")
            for kind in ("MAX_POOL_2D", "AVERAGE_POOL_2D")
        ),
        net.mean(x, (1, 2)),
        transpose_conv(net, x, rng.choice((1, 4, 16)), kernel=kernel, stride=stride),
    )


def resized(seed: int) -> bytes:
    rng = random.Random(seed)
    net = Net(seed)
    x = net.input((1, rng.randint(2, 10), rng.randint(2, 10), rng.choice((1, 3, 8, 16))))
    kernel, stride = rng.choice(((2, 2), (3, 3), (4, 2))), rng.choice((ONE, (2, 2)))
    _, h, w, _ = net.shape(x)
    larger = resize(net, x, (h * rng.choice((2, 3)), w * 2), bilinear=True)
    return net.model(transpose_conv(net, x, rng.choice((1, 4, 16)), kernel=kernel, stride=stride), larger)


def converting(seed: int) -> bytes:
    rng = random.Random(seed)
    shape = 1, rng.randint(2, 12), rng.randint(2, 12), rng.choice((3, 8, 24))
    net = Net(seed)
    real, small, wide = net.input(shape, None, dtype="FLOAT32"), net.input(shape), net.input(shape, dtype="INT16")
    outputs = [net.unary("DEQUANTIZE", x, dtype="FLOAT32", out=None) for x in (small, wide)]
    outputs += [net.unary("QUANTIZE", x, out=(0.03, 3)) for x in (real, wide)]
    outputs += [net.unary("QUANTIZE", x, dtype="INT16", out=(0.001, 0)) for x in (real, small, wide)]
    return net.model(*outputs)


def _size(shape: Sequence[int]) -> Pair:
    return shape[1], shape[2]


def over_windows(seed: int) -> bytes:
    """Draw networks that average a sliding window by updating sums when a row enters the window."""
    rng = random.Random(seed)
    net = Net(seed)
    x = net.input((1, rng.randint(8, 60), rng.choice((1, 1, 3, 8)), rng.choice((1, 3, 8, 16, 40, 64))))
    whole = net.pool(x, kernel=_size(net.shape(x)), stride=ONE, padding="VALID")
    return net.model(net.mean(x, (1,)), whole)


def in_sums(seed: int) -> bytes:
    rng = random.Random(seed)
    drawn = Drawn(seed, (1, rng.randint(4, 16), rng.randint(4, 16), rng.choice((6, 8, 16, 24, 40))))
    for _ in range(3):
        drawn.conv()
    drawn.tail()
    return in_parts(drawn.net.model(drawn.x), rng.randint(2, 4))


def with_state(seed: int) -> bytes:
    rng = random.Random(seed)
    c = rng.choice((8, 16, 24, 30, 32, 40, 48, 64))
    drawn = Drawn(seed, (1, rng.choice((1, 1, 2, 3)), 1, rng.choice((8, 16, 40, c))))
    streaming = Streaming(drawn.net)
    for layer in range(rng.randint(1, 5)):
        kernel = rng.choice((3, 5, 5, 9, 13, 21))
        drawn.x = streaming.window(str(layer), drawn.x, kernel - 1, first=drawn.net.affine(drawn.x)[1])
        if layer == 0 and rng.random() < 0.6:
            drawn.conv(c, ((kernel, 1),), stride=ONE, padding="VALID")
        else:
            drawn.depthwise(((kernel, 1),), stride=ONE, padding="VALID")
            drawn.conv(rng.choice((c, 16, 24, 48, 64)), (ONE,), stride=ONE)
    if rng.random() < 0.5:
        drawn.dense(rng.choice((1, 2, 10)))
        drawn.table()
    return drawn.net.model(drawn.x)


def few(seed: int) -> bytes:
    rng = random.Random(seed)
    c, flat = rng.choice((1, 1, 2, 3, 3, 4)), rng.random() < 0.3
    h, w = (1, rng.randint(30, 300)) if flat else (rng.randint(8, 50), rng.randint(8, 50))
    drawn = Drawn(seed, (1, h, w, c))
    image_kernels: Sequence[Pair] = ((3, 3), (3, 3), (5, 5), (7, 7), (2, 2), (10, 8), (10, 4), (9, 9))
    kernels = [(1, k) for k in (3, 5, 7, 9, 16)] if flat else image_kernels
    if rng.random() < 0.25:
        drawn.depthwise(kernels)
    else:
        drawn.conv(rng.choice((2, 4, 6, 8, 8, 12, 16, 32)), kernels)
    for _ in range(rng.randint(0, 2)):
        rng.choice((drawn.conv, drawn.pool))()
    drawn.tail()
    return drawn.net.model(drawn.x)


def multiplied(seed: int) -> bytes:
    rng = random.Random(seed)
    h, w, c = rng.randint(6, 49), rng.randint(6, 40), rng.choice((1, 1, 2, 3, 8))
    drawn = Drawn(seed, (1, h, w, c))
    kernel, stride = rng.choice(((3, 3), (5, 5), (10, 8), (8, 4), (4, 1))), rng.choice((ONE, (2, 2), (2, 1)))
    kernel = min(kernel[0], h), min(kernel[1], w)
    multiplier = rng.choice((2, 3, 4, 8, 8))
    y = drawn.net.depthwise_conv2d(drawn.x, multiplier=multiplier, kernel=kernel, stride=stride, activation="RELU")
    drawn.activated(y, "RELU")
    drawn.tail()
    return drawn.net.model(drawn.x)


def pooled(seed: int) -> bytes:
    rng = random.Random(seed)
    c, flat = rng.choice((1, 3, 6, 8, 12, 16)), rng.random() < 0.3
    drawn = Drawn(seed, (1, 1, rng.randint(20, 200), c) if flat else (1, rng.randint(8, 40), rng.randint(8, 40), c))
    for _ in range(rng.randint(1, 3)):
        drawn.conv(rng.choice((4, 6, 8, 12, 16, 18, 24, 40)), ((1, 5), (1, 3)) if flat else ((3, 3), (5, 5), ONE))
        kernel = rng.choice(((1, 2), (1, 4)) if flat else ((2, 2), (2, 2), (3, 3), (2, 1), (4, 3)))
        kernel = min(kernel[0], drawn.shape[1]), min(kernel[1], drawn.shape[2])
        kind = rng.choice(("MAX_POOL_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D"))
        stride = kernel if rng.random() < 0.7 else ONE
        drawn.x = drawn.net.pool(
            drawn.x, kind=kind, kernel=kernel, stride=stride, padding=rng.choice(("SAME", "VALID"))
        )
    scores = drawn.net.input((1, rng.randint(1, 20), rng.choice((3, 10, 16))), (rng.choice((0.02, 0.1, 0.5)), 0))
    return drawn.net.model(drawn.x, drawn.net.softmax(scores))


def over_frames(seed: int) -> bytes:
    rng = random.Random(seed)
    wide, c = rng.choice((1, 8, 16, 40)), rng.choice((1, 2, 8))
    drawn = Drawn(seed, (1, rng.choice((1, 1, 2)), wide, c))
    streaming = Streaming(drawn.net)
    for layer in range(rng.randint(1, 4)):
        kernel = rng.choice((3, 5, 7, 9))
        drawn.x = streaming.window(str(layer), drawn.x, kernel - 1, first=drawn.net.affine(drawn.x)[1])
        across = min(drawn.shape[2], rng.choice((1, 3, 4)))
        stride = (1, min(across, rng.choice((1, 2))))
        if rng.random() < 0.3:
            drawn.depthwise(((kernel, across),), stride=stride, padding="VALID")
        else:
            drawn.conv(rng.choice((6, 8, 12, 16, 24)), ((kernel, across),), stride=stride, padding="VALID")
    rows = streaming.window("last", drawn.x, rng.choice((3, 8)), first=-128)
    return drawn.net.model(drawn.net.fully_connected(rows, rng.choice((1, 3, 32))))


def enlarged(seed: int) -> bytes:
    rng = random.Random(seed)
    net = Net(seed)
    x = net.input((1, rng.randint(3, 16), rng.randint(3, 16), rng.choice((1, 4, 8, 12, 20, 30))))
    kernel, stride = rng.choice(((2, 2), (3, 3), (5, 5), (4, 4))), rng.choice(((2, 2), (2, 2), ONE))
    y = transpose_conv(net, x, rng.choice((1, 1, 3, 8, 12)), kernel=kernel, stride=stride)
    if rng.random() < 0.6:
        parts = [
            net.conv2d(x, 2 * rng.randint(1, 12), kernel=rng.choice((ONE, (3, 3))), out=(0.1, 0)) for _ in range(2)
        ]
        joined = concatenation(net, parts, 3)
        first, second = split(net, joined, 3, 2)
        amounts = [(0, 0), (rng.randint(0, 2), 1), (rng.randint(0, 2), 1), (0, 0)]
        return net.model(y, net.conv2d(net.pad(first, amounts), 4), net.conv2d(second, 4))
    return net.model(y)


RARE: Sequence[Callable[[int], bytes]] = (rare, rare_int16, converting, resized, over_windows, in_sums, with_state)
FAMILIES: Sequence[Callable[[int], bytes]] = (
    image, small, image, over_time, rare, image, partial(small, wide=True), image, dense, rare_int16, image, over_time,
    converting, resized, over_windows, in_sums, with_state, in_sums, few, multiplied,
)  # fmt: skip


MORE: Sequence[Callable[[int], bytes]] = (pooled, over_frames, enlarged, few, dense, over_time, multiplied)
MORE_FROM = 10_000
"""First seed of networks with rare operators."""
KNOWN_FROM = 20_000
"""First seed of the networks of tests/known.py."""


def network(seed: int) -> bytes:
    if seed >= KNOWN_FROM:
        return tuple(known.NETWORKS.values())[seed - KNOWN_FROM](Net(1))
    families = FAMILIES if seed < MORE_FROM else MORE
    return families[seed % len(families)](seed)


def is_rare(seed: int) -> bool:
    return seed < MORE_FROM and FAMILIES[seed % len(FAMILIES)] in RARE


def steps(seed: int) -> int:
    return 1 + seed % 3 if seed < MORE_FROM and FAMILIES[seed % len(FAMILIES)] is over_windows else 0
