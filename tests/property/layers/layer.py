"""Describes layers of random networks as data."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from models import Net, Pair

MAX_ELEMENTS = 4096
"""Maximum number of elements of a tensor, so that random networks run quickly."""


@dataclass(frozen=True)
class Layer:
    """One operator of a random network, or a few operators that often occur together."""

    kind: str
    source: int = 0
    """Index of the first operand. Index 0 is the newest tensor, and indices are modulo the number of tensors."""
    other: int = 0
    """Index of the second operand, counted from the newest tensor like `source`."""
    channels: int = 4
    kernel: Pair = (3, 3)
    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    padding: str = "SAME"
    activation: str = "NONE"
    flag: bool = True
    spread: int = 0
    """The output's usual scale is multiplied by 2^`spread`."""
    zero_point: int = 3


Build = Callable[[Net, Layer, int, int], list[int]]


def random_layer(rng: random.Random, kinds: Sequence[str], **fixed: Any) -> Layer:
    layer = Layer(
        kind=rng.choice(kinds),
        source=rng.choice((0, 0, rng.randint(0, 4))),
        other=rng.randint(0, 6),
        channels=rng.randint(1, 8),
        kernel=(rng.randint(1, 5), rng.randint(1, 4)),
        stride=rng.choice(((1, 1), (1, 1), (2, 2), (rng.randint(1, 4), rng.randint(1, 3)))),
        dilation=rng.choice(((1, 1), (1, 1), (rng.randint(1, 3), rng.randint(1, 2)))),
        padding=rng.choice(("SAME", "VALID")),
        activation=rng.choice(("NONE", "RELU", "RELU6", "RELU_N1_TO_1")),
        flag=rng.random() < 0.5,
        spread=rng.choice((0, 0, rng.randint(-6, 6))),
        zero_point=rng.choice((3, rng.choice((-128, 127)), rng.randint(-128, 127))),
    )
    return replace(layer, **fixed)


def image(net: Net, x: int) -> int:
    shape = net.shape(x)
    return x if len(shape) == 4 else net.reshape(x, (1,) * (4 - len(shape)) + shape)


def window(net: Net, layer: Layer, x: int, *, dilated: bool = True) -> dict[str, object]:
    dilation = layer.dilation if dilated else (1, 1)
    extent = [(k - 1) * d + 1 for k, d in zip(layer.kernel, dilation, strict=True)]
    fits = all(e <= n for e, n in zip(extent, net.shape(x)[1:3], strict=True))
    return {
        "kernel": layer.kernel,
        "stride": layer.stride,
        "padding": layer.padding if fits else "SAME",
        "activation": layer.activation,
    }


def scaled(net: Net, layer: Layer, y: int) -> int:
    q = net.graph.tensors[y].quantization
    q.scale = np.array([q.scale[0] * 2.0**layer.spread], np.float32)
    q.zeroPoint = np.array([0 if net.dtype(y) == "INT16" else layer.zero_point], np.int64)
    return y
