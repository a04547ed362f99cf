"""Draws small models of single operators for the table in tflm/access_order.py."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from models import Net

from tflm_memopt.model.graph import Op, Tensor
from tflm_memopt.ops.context import span
from tflm_memopt.tflm.access_order import REFERENCE
from tflm_memopt.tflm.builtin_memory import Node

ITEM = {"INT8": 1, "INT16": 2, "FLOAT32": 4}
SHAPES = ((1, 6, 5, 3), (1, 4, 7, 2), (2, 3, 4, 5))
QUANTIZED = {"LOGISTIC": (1 / 256, -128), "SOFTMAX": (1 / 256, -128), "TANH": (1 / 128, 0)}
"""Scale and zero point that TFLM requires of an operator's int8 output."""
OPTIONS: Mapping[str, Any] = {
    "ADD": schema.AddOptionsT, "SUB": schema.SubOptionsT, "MUL": schema.MulOptionsT,
    "CONV_2D": schema.Conv2DOptionsT, "DEPTHWISE_CONV_2D": schema.DepthwiseConv2DOptionsT,
    "FULLY_CONNECTED": schema.FullyConnectedOptionsT, "AVERAGE_POOL_2D": schema.Pool2DOptionsT,
    "MAX_POOL_2D": schema.Pool2DOptionsT, "PAD": schema.PadOptionsT, "HARD_SWISH": schema.HardSwishOptionsT,
    "LEAKY_RELU": schema.LeakyReluOptionsT, "QUANTIZE": schema.QuantizeOptionsT,
    "DEQUANTIZE": schema.DequantizeOptionsT, "SOFTMAX": schema.SoftmaxOptionsT,
}  # fmt: skip


@dataclass(frozen=True)
class OrderCase:
    op: str
    read: str
    written: str
    k: int
    shape: tuple[int, int, int, int]
    channels: int
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: str = "SAME"

    def __str__(self) -> str:
        window = "x".join(map(str, (*self.kernel, *self.stride, *self.dilation)))
        return f"{self.op}-{self.read}-{self.written}-{self.k}-{'x'.join(map(str, self.shape))}-{window}-{self.padding}"

    @property
    def windows(self) -> bool:
        return "CONV" in self.op or "POOL" in self.op

    @property
    def spans(self) -> list[Any]:
        each = zip(self.shape[1:3], self.kernel, self.stride, self.dilation, strict=True)
        return [span(*along, self.padding) for along in each]

    @property
    def output(self) -> tuple[int, ...]:
        n, h, w, c = self.shape
        if self.op == "FULLY_CONNECTED":
            return (n, self.channels)
        if self.op == "PAD":
            return (n, h + 3, w + 2, c)
        return (n, *(s.output for s in self.spans), self.channels) if self.windows else self.shape

    @property
    def pixel(self) -> int:
        return ITEM[self.written] * self.output[-1]

    @property
    def options(self) -> dict[str, Any]:
        if not self.windows:
            return {}
        names: dict[str, Any] = {"padding": self.padding, "strideH": self.stride[0], "strideW": self.stride[1]}
        if "POOL" in self.op:
            return {**names, "filterHeight": self.kernel[0], "filterWidth": self.kernel[1]}
        names |= {"dilationHFactor": self.dilation[0], "dilationWFactor": self.dilation[1]}
        return names | ({"depthMultiplier": self.channels // self.shape[3]} if self.op[0] == "D" else {})

    @property
    def weights(self) -> tuple[int, ...]:
        _, h, w, c = self.shape
        if self.op == "FULLY_CONNECTED":
            return (self.channels, h * w * c)
        return (1, *self.kernel, self.channels) if self.op[0] == "D" else (self.channels, *self.kernel, c)

    def node(self) -> tuple[Op, Node]:
        x = Tensor(0, "x", self.shape, self.read)
        others: dict[str, tuple[Tensor, ...]] = {
            "CONV_2D": (Tensor(1, "w", self.weights, "INT8", data=np.zeros(1)),),
            "DEPTHWISE_CONV_2D": (Tensor(1, "w", self.weights, "INT8", data=np.zeros(1)),),
            "FULLY_CONNECTED": (Tensor(1, "w", self.weights, "INT8", data=np.zeros(1)),),
            "PAD": (Tensor(1, "margins", (4, 2), "INT32", data=np.array(MARGINS)),),
        }
        inputs: tuple[Tensor, ...] = (x, *others.get(self.op, ()))
        if self.op in ("ADD", "SUB", "MUL"):
            inputs = (x, Tensor(1, "b", self.shape, self.read))[:: -1 if self.k else 1]
        y = Tensor(2, "y", self.output, self.written)
        return Op(0, self.op, tuple(t.id for t in inputs), (2,), self.options), Node(inputs, (y,), self.options)

    def model(self) -> tuple[Net, int, int]:
        net = Net(seed=3)
        x = net.input(self.shape, self._affine("input", self.read), dtype=self.read)
        y = net.tensor(self.output, self.written, self._affine(self.op, self.written))
        inputs = [x]
        if self.op in ("ADD", "SUB", "MUL"):
            inputs.insert(1 - self.k, net.input(self.shape, self._affine("input", self.read), dtype=self.read))
        elif self.op == "PAD":
            inputs.append(net.tensor((4, 2), "INT32", None, data=MARGINS))
        elif "CONV" in self.op or self.op == "FULLY_CONNECTED":
            inputs += self._weights(net)
        fields = {k: getattr(schema.Padding, v) if k == "padding" else v for k, v in self.options.items()}
        options = OPTIONS[self.op](**fields) if self.op in OPTIONS else None
        if self.op == "SOFTMAX":
            options.beta = 1.0
        if self.op == "LEAKY_RELU":
            options.alpha = 0.3
        net.op(self.op, inputs, [y], options)
        return net, x, y

    @staticmethod
    def _affine(kind: str, dtype: str) -> tuple[float, int] | None:
        if dtype == "FLOAT32":
            return None
        alike = kind in ("input", "AVERAGE_POOL_2D", "MAX_POOL_2D", "PAD")
        if dtype == "INT16":
            return (1 / 32768 if kind in QUANTIZED else 0.001 if alike else 0.002), 0
        return QUANTIZED.get(kind, (0.05, 0) if alike else (0.06, 1))

    def _weights(self, net: Net) -> list[int]:
        shape, rng, channels = self.weights, net.rng, self.channels
        axis = 3 if self.op[0] == "D" else 0
        if self.read == "FLOAT32":
            filters = net.tensor(shape, "FLOAT32", None, data=rng.normal(size=shape))
            return [filters, net.tensor((channels,), "FLOAT32", None, data=rng.normal(size=channels))]
        scale = 0.02
        single = self.op == "FULLY_CONNECTED"
        filters = net.tensor(
            shape, "INT8", (scale, 0), data=rng.integers(-127, 128, shape),
            scales=() if single else [scale] * channels, axis=axis,
        )  # fmt: skip
        wide = "INT64" if self.read == "INT16" else "INT32"
        step = scale * (0.001 if self.read == "INT16" else 0.05)
        bias = net.tensor(
            (channels,),
            wide,
            (step, 0),
            data=rng.integers(-99, 99, channels),
            scales=() if single else [step] * channels,
        )
        return [filters, bias]


MARGINS = [[0, 0], [1, 2], [1, 1], [0, 0]]


def cases() -> Iterator[OrderCase]:
    for op, row in REFERENCE.items():
        for read, written in row.types:
            for k in range(row.operands):
                for n, shape in enumerate(SHAPES):
                    yield from _windows(OrderCase(op, read, written, k, shape, shape[3]), n)


def _windows(plain: OrderCase, n: int) -> Iterator[OrderCase]:
    op, read, written, shape = plain.op, plain.read, plain.written, plain.shape
    if op == "FULLY_CONNECTED":
        yield OrderCase(op, read, written, 0, shape, 4 + n)
        return
    if not plain.windows:
        yield plain
        return
    for kernel, stride, dilation, padding in WINDOWS:
        if "POOL" in op and dilation != (1, 1):
            continue
        wider = {"CONV_2D": shape[3] + n - 1, "DEPTHWISE_CONV_2D": shape[3] * (1 + n % 2)}
        case = OrderCase(op, read, written, 0, shape, wider.get(op, shape[3]), kernel, stride, dilation, padding)
        if math.prod(case.output) > 0:
            yield case


WINDOWS = (
    ((1, 1), (1, 1), (1, 1), "SAME"),
    ((3, 3), (1, 1), (1, 1), "SAME"),
    ((2, 2), (2, 2), (1, 1), "VALID"),
    ((3, 2), (2, 1), (1, 1), "SAME"),
    ((2, 2), (1, 1), (2, 2), "VALID"),
)
