"""Random operators and networks, drawn operator by operator."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tflm_memopt.lower.program import ProgramOp
from tflm_memopt.ops.kinds import KINDS, Kind
from tflm_memopt.ops.rowop import Window

Shape = tuple[int, int, int]
Int8 = NDArray[np.int8]
Ints = NDArray[np.int64]
POOLS = (Kind.AVERAGE_POOL, Kind.MAX_POOL, Kind.MEAN)
BINARY = tuple(kind for kind, row in KINDS.items() if row.elementwise and row.operands == 2 and row.reads == 1)
"""int8 operators of two operands."""
WINDOWED = (Kind.CONV, Kind.DEPTHWISE, *POOLS)


@dataclass(frozen=True)
class Network:
    """A network in which operator i writes tensor n_inputs + i. shapes: [h, w, c] of all; the last is the output."""

    n_inputs: int
    shapes: tuple[Shape, ...]
    ops: tuple[ProgramOp, ...]


def window(rng: Generator, shape: Shape, *, dilated: bool = True, padded: bool = True) -> Window:
    """Draw a window that fits a tensor of this shape; strides may skip rows and columns."""

    def axis(size: int) -> tuple[int, int, int, int]:
        kernel = int(rng.integers(1, 6))
        dilation = int(rng.integers(1, 4)) if dilated and rng.random() < 0.3 else 1
        extent = (kernel - 1) * dilation + 1
        pad = int(rng.integers(0, extent)) if padded and rng.random() < 0.7 else 0
        if extent > size + pad:
            kernel, dilation, pad = 1, 1, 0
        return kernel, int(rng.integers(1, 4)), dilation, pad

    (kh, sh, dh, ph), (kw, sw, dw, pw) = axis(shape[0]), axis(shape[1])
    return Window(kh, kw, sh, sw, dh, dw, ph, pw)


def output_size(rng: Generator, size: int, kernel: int, stride: int, dilation: int, pad: int, *, inside: bool) -> int:
    """Draw an output size between those of VALID and SAME padding. inside: return the size of VALID, whose windows end
    in the input.
    """
    extent = (kernel - 1) * dilation + 1
    most = (size - 1 + pad) // stride + 1
    fewest = (size + pad - extent) // stride + 1
    return fewest if inside else int(rng.integers(max(1, fewest), most + 1))


def scaling(rng: Generator, n: int, gain: float) -> dict[str, Ints]:
    """Draw multipliers around `gain`, split as QuantizeMultiplier does."""
    fractions, exponents = np.frexp(gain * rng.uniform(0.5, 2.0, n))
    return {
        "multipliers": np.minimum(np.round(fractions * (1 << 31)), (1 << 31) - 1).astype(np.int32),
        "shifts": exponents.astype(np.int8),
    }


def operator(rng: Generator, kind: Kind, inputs: tuple[int, ...], shape: Shape, output: int) -> tuple[ProgramOp, Shape]:
    """Draw an operator of this kind on tensors of this shape; return it and its output shape."""
    zeros = tuple(int(z) for z in rng.integers(-128, 128, len(inputs)))
    low, high = (
        sorted(rng.choice([-128, -100, -5, 3, 90, 127], 2, replace=False)) if rng.random() < 0.3 else (-128, 127)
    )
    op = ProgramOp(
        kind=kind,
        inputs=inputs,
        output=output,
        input_zero_points=zeros,
        output_zero_point=int(rng.integers(-128, 128)),
        activation=(int(low), int(high)),
    )
    if kind in BINARY:
        return dataclasses.replace(op, swapped=bool(rng.random() < 0.5), **_combination(rng, kind)), shape
    if kind is Kind.GATHER:
        rows, width = (int(n) for n in rng.integers(1, 40, 2))
        table = rng.integers(-128, 128, (rows, width), dtype=np.int8)
        return dataclasses.replace(op, weights=table, param=rows), (*shape[:2], width)
    if kind is Kind.LOOKUP:
        return dataclasses.replace(op, weights=rng.integers(-128, 128, 256, dtype=np.int8)), shape
    if kind in (Kind.SOFTMAX, Kind.LOG_SOFTMAX):
        multiplier, shift = np.frexp(rng.uniform(0.005, 0.6) * (1 << 26))
        back, right = np.frexp(2.0 ** -float(shift) / multiplier)
        count = KINDS[kind].scales or 1
        return dataclasses.replace(
            op,
            param=-int(31 * (1 << 26) // (1 << int(shift))),
            multipliers=np.array([multiplier * (1 << 31), back * (1 << 31)], np.int64).astype(np.int32)[:count],
            shifts=np.array([shift, right], np.int8)[:count],
        ), shape
    if kind is Kind.ARG_MAX:
        return dataclasses.replace(op, param=int(rng.integers(0, 2))), (*shape[:2], 4)
    return _windowed(rng, op, shape)


def _combination(rng: Generator, kind: Kind) -> dict[str, Any]:
    """Draw the left shift, and multipliers and shifts of two operands."""
    if kind in (Kind.MAXIMUM, Kind.MINIMUM):
        return {}
    if kind is Kind.COMPARE:
        return {"param": int(rng.integers(8)), **scaling(rng, 3, 0.02)}
    if kind in (Kind.MUL, Kind.PRELU):
        return scaling(rng, KINDS[kind].scales or 1, 0.02)
    param, gain = (7, 2.0**-19) if kind is Kind.SQUARED_DIFFERENCE else (20, 2.0**-19)
    left, out = scaling(rng, 2, 0.3), scaling(rng, 1, gain)
    if kind is Kind.ADD:  # TFLM gives the operand with the larger scale exactly 1/2
        greater = int(np.argmax(np.ldexp(left["multipliers"], left["shifts"])))
        left["multipliers"][greater], left["shifts"][greater] = 1 << 30, 0
    return {"param": param, **{name: np.concatenate((left[name], out[name])) for name in ("multipliers", "shifts")}}


def part(rng: Generator, shape: Shape) -> Shape:
    """Draw the operand's shape with 1 in some of its dimensions, which are broadcast."""
    h, w, c = (d if rng.random() < 0.6 else 1 for d in shape)
    return h, w, c


def fits_into(shape: Shape, whole: Shape) -> bool:
    """Return whether an operand of this shape is as large as the output or can be broadcast to the output's shape."""
    return all(a in (1, b) for a, b in zip(shape, whole, strict=True))


def _windowed(
    rng: Generator, op: ProgramOp, shape: Shape, *, out_channels: int | None = None, taps: Window | None = None
) -> tuple[ProgramOp, Shape]:
    pool, mean = op.kind in POOLS, op.kind is Kind.MEAN
    w = taps or window(rng, shape, dilated=not pool, padded=not mean)
    h_out = output_size(rng, shape[0], w.kernel_h, w.stride_h, w.dilation_h, w.pad_top, inside=mean)
    w_out = output_size(rng, shape[1], w.kernel_w, w.stride_w, w.dilation_w, w.pad_left, inside=mean)
    op = dataclasses.replace(op, window=w)
    if pool:
        gain = 2.0 / (w.kernel_h * w.kernel_w)
        least = int(op.kind is Kind.MAX_POOL and (h_out + w_out) % 2)  # of a window
        op = dataclasses.replace(op, param=least)
        scales = scaling(rng, 1, gain) if op.kind is Kind.MEAN else {}
        return dataclasses.replace(op, **scales), (h_out, w_out, shape[2])
    depthwise = op.kind is Kind.DEPTHWISE
    channels = out_channels or (shape[2] * int(rng.integers(1, 4)) if depthwise else int(rng.integers(1, 20)))
    kernel = (w.kernel_h, w.kernel_w)
    weights = rng.integers(
        -127, 128, (*kernel, channels) if depthwise else (channels, *kernel, shape[2]), dtype=np.int8
    )
    products = weights.size // channels
    op = dataclasses.replace(
        op,
        weights=weights,
        bias=rng.integers(-4000, 4000, channels, dtype=np.int32) if rng.random() < 0.8 else None,
        **scaling(rng, channels if rng.random() < 0.7 else 1, 0.02 / products**0.5),
    )
    return op, (h_out, w_out, channels)


def draw_deep(rng: Generator, n_ops: int) -> Network:
    """Draw a chain typical of small cores: pointwise and depthwise convolutions of many channels.

    Channels are mostly multiples of what kernels process at once, and rows can be as short as a pixel. Half of the
    operators have the range of a ReLU. An image has few channels.
    """
    width = 1 if rng.random() < 0.3 else int(rng.integers(2, 12))
    channels = int(rng.choice(DEPTHS)) if rng.random() < 0.6 else int(rng.integers(1, 4))
    shapes: list[Shape] = [(int(rng.integers(1, 6)), width, channels)]
    ops: list[ProgramOp] = []
    while len(ops) < n_ops:
        shape, kind = shapes[-1], Kind.CONV if rng.random() < 0.6 else Kind.DEPTHWISE
        channels = shape[2] if kind is Kind.DEPTHWISE else int(rng.choice(DEPTHS))
        plain, _ = operator(rng, kind, (len(ops),), shape, len(ops) + 1)
        pointwise = kind is Kind.CONV and rng.random() < 0.8
        if rng.random() < 0.5:
            plain = dataclasses.replace(plain, output_zero_point=-128, activation=(-128, 127))
        op, shape = _windowed(rng, plain, shape, out_channels=channels, taps=Window() if pointwise else None)
        ops.append(op)
        shapes.append(shape)
    return Network(1, tuple(shapes), tuple(ops))


def draw_depthwise(rng: Generator) -> Network:
    """Draw a typical depthwise convolution with 3x3 taps and the range of a ReLU. The number of channels is small, a
    multiple of sixteen, or what is left after removing dead channels.
    """
    shape = (int(rng.integers(1, 7)), int(rng.integers(1, 12)), int(rng.choice((4, 8, 12, 16, 17, 31, 32, 48, 60))))
    plain, _ = operator(rng, Kind.DEPTHWISE, (0,), shape, 1)
    plain = dataclasses.replace(plain, output_zero_point=-128, activation=(-128, 127))
    stride, (pad_top, pad_left) = int(rng.integers(1, 4)), rng.integers(0, 3, 2).tolist()
    op, out = _windowed(
        rng, plain, shape, out_channels=shape[2], taps=Window(3, 3, stride, stride, 1, 1, pad_top, pad_left)
    )
    return Network(1, (shape, out), (op,))


def reduced_whole(rng: Generator, op: ProgramOp, shape: Shape) -> tuple[ProgramOp, Shape]:
    """Give the operator a window over all rows, so that it can run one input row at a time."""
    w = dataclasses.replace(op.window, kernel_h=shape[0], stride_h=1, dilation_h=1, pad_top=0)
    pool, inside = op.kind in POOLS, op.kind is Kind.MEAN
    w_out = output_size(rng, shape[1], w.kernel_w, w.stride_w, w.dilation_w, w.pad_left, inside=inside)
    op = dataclasses.replace(op, window=w)
    if pool:
        return op, (1, w_out, shape[2])
    channels = op.weights.shape[2 if op.kind is Kind.DEPTHWISE else 0]  # type: ignore[union-attr]
    kernel = (w.kernel_h, w.kernel_w)
    dims = (*kernel, channels) if op.kind is Kind.DEPTHWISE else (channels, *kernel, shape[2])
    return dataclasses.replace(op, weights=rng.integers(-127, 128, dims, dtype=np.int8)), (1, w_out, channels)


DEPTHS = (8, 16, 24, 32, 33, 48, 64, 96)
"""Numbers of channels of draw_deep()."""


def random_shape(rng: Generator) -> Shape:
    return int(rng.integers(1, 14)), int(rng.integers(1, 12)), int(rng.integers(1, 10))


def draw(rng: Generator, n_ops: int) -> Network:
    """Draw a network with branches: each operator reads a recent tensor, some also a second one, whole or broadcast.

    Some networks begin with a GATHER.
    """
    shapes: list[Shape] = [(int(rng.integers(8, 20)), int(rng.integers(4, 10)), int(rng.integers(1, 6)))]
    ops: list[ProgramOp] = []
    if shapes[0][2] == 4:
        op, shape = operator(rng, Kind.GATHER, (0,), shapes[0], 1)
        ops.append(op)
        shapes.append(shape)
    while len(ops) < n_ops:
        first = int(shapes[0][2] == 4)  # no operator but GATHER computes with indices
        source = len(shapes) - 1 - int(len(shapes) > 1 + first and rng.random() < 0.3) * int(rng.integers(0, 2))
        twins = [i for i in range(first, len(shapes)) if i != source and fits_into(shapes[i], shapes[source])]
        kinds = [
            Kind.CONV, Kind.DEPTHWISE, Kind.LOOKUP, Kind.AVERAGE_POOL, Kind.MAX_POOL, Kind.MEAN, Kind.SOFTMAX,
            Kind.LOG_SOFTMAX, Kind.ARG_MAX,
        ]  # fmt: skip
        kind = (
            Kind(rng.choice(BINARY))
            if twins and rng.random() < 0.6
            else Kind(rng.choice(kinds, p=[0.35, 0.2, 0.15, 0.08, 0.08, 0.07, 0.03, 0.02, 0.02]))
        )
        inputs = tuple(rng.permutation([source, rng.choice(twins)]).tolist()) if kind in BINARY else (source,)
        op, shape = operator(rng, kind, inputs, shapes[source], len(shapes))
        if kind in WINDOWED and len(ops) == n_ops - 1 and rng.random() < 0.7:
            op, shape = reduced_whole(rng, op, shapes[source])
        ops.append(op)
        shapes.append(shape)
    return Network(1, tuple(shapes), tuple(ops))


def reshaped(rng: Generator, op: ProgramOp, out: Shape, w: Window, channels: int) -> tuple[ProgramOp, Shape]:
    """Return the same convolution with another window and other channels, for an output of the size of `out`."""
    assert op.weights is not None
    kernel = (w.kernel_h, w.kernel_w)
    dims = (*kernel, channels) if op.kind is Kind.DEPTHWISE else (channels, *kernel, op.weights.shape[3])
    weights = rng.integers(-127, 128, dims, dtype=np.int8)
    bias = rng.integers(-4000, 4000, channels, dtype=np.int32) if rng.random() < 0.8 else None
    scales = scaling(rng, channels if rng.random() < 0.7 else 1, 0.02 / (weights.size / channels) ** 0.5)
    return dataclasses.replace(op, window=w, weights=weights, bias=bias, **scales), (*out[:2], channels)


def chain(rng: Generator, n_ops: int, shape: Shape) -> Network:
    """Return a chain of padded 3x3 depthwise convolutions."""
    ops = []
    for i in range(n_ops):
        op, _ = operator(rng, Kind.DEPTHWISE, (i,), shape, i + 1)
        ops.append(reshaped(rng, op, shape, Window(3, 3, 1, 1, 1, 1, 1, 1), shape[2])[0])
    return Network(1, (shape,) * (n_ops + 1), tuple(ops))


def random_inputs(rng: Generator, network: Network) -> list[Int8]:
    extreme = rng.random() < 0.2

    def values(tensor: int, shape: Shape) -> Int8:
        rows = min((op.param for op in network.ops if op.kind is Kind.GATHER and tensor in op.inputs), default=0)
        if rows:
            indices: Int8 = rng.integers(0, rows, (*shape[:2], 1), dtype=np.int32).view(np.int8)
            return indices
        return rng.choice([-128, 127], shape).astype(np.int8) if extreme else rng.integers(-128, 128, shape, np.int8)

    return [values(t, shape) for t, shape in enumerate(network.shapes[: network.n_inputs])]
