"""Test which channels are folded or kept, and the operators that lose channels.

tests/property/test_fold.py shows under TFLM that no output byte changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tflm_memopt.model.graph import Graph
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp, Rows, Window
from tflm_memopt.rowgraph.fold import without_dead_channels
from tflm_memopt.rowgraph.graph import BuiltinNode, Region, RowGraph

H, W = 4, 5
LIVE, DEAD = 0, -(1 << 20)
"""Biases with which a channel that ends in RELU varies, or always equals its zero point."""
SAME = Window(3, 3, pad_top=1, pad_left=1)


def conv(x: int, y: int, weights: Any, bias: Sequence[int] | None = None, **fields: Any) -> RowOp:
    """A convolution with weights [out][in] or [out][kernel_h][kernel_w][in], RELU, zero points 0."""
    values = np.array(weights, np.int8)
    values = values if values.ndim == 4 else values[:, None, None]
    c_out, _, _, c_in = values.shape
    macs = H * W * values.size
    return row_op(Kind.CONV, (x,), y, c_in, c_out, weights=values, macs=macs, **per_channel(bias, c_out), **fields)


def depthwise(x: int, y: int, weights: Sequence[int], c_in: int, bias: Sequence[int] | None = None) -> RowOp:
    """A 3x3 convolution with equal taps in each channel."""
    values = np.broadcast_to(np.array(weights, np.int8), (3, 3, len(weights)))
    return row_op(Kind.DEPTHWISE, (x,), y, c_in, len(weights), weights=values, macs=H * W * values.size, window=SAME,
                  **per_channel(bias, len(weights)))  # fmt: skip


def per_channel(bias: Sequence[int] | None, channels: int) -> dict[str, Any]:
    """Multipliers that differ between channels."""
    return {
        "bias": None if bias is None else np.array(bias, np.int32),
        "multipliers": np.arange(channels, dtype=np.int32) + (1 << 30),
        "shifts": np.ones(channels, np.int8),
    }


def row_op(kind: Kind, inputs: tuple[int, ...], output: int, c_in: int, c_out: int, **fields: Any) -> RowOp:
    return RowOp(**{
        "kind": kind, "name": kind.name, "sources": (0,), "inputs": inputs, "output": output,
        "reads": (Rows(H, W, c_in),) * len(inputs), "writes": Rows(H, W, c_out),
        "input_zero_points": (0,) * len(inputs), "output_zero_point": 0, "activation": (0, 127),
        "multipliers": np.full(3 if kind is Kind.ADD else 1, 1 << 30, np.int32),
        "shifts": np.ones(3 if kind is Kind.ADD else 1, np.int8),
        "weights": np.maximum(np.arange(-128, 128, dtype=np.int8), 0) if kind is Kind.LOOKUP else None,
    } | fields)  # fmt: skip


def folded(*ops: RowOp, outputs: Sequence[int] = (), kept: Sequence[BuiltinNode] = ()) -> tuple[RowOp, ...]:
    """Fold the operators as one region with input tensor 0. `outputs`: of the model; by default the last tensor."""
    outputs = outputs or (ops[-1].output,)
    region = Region(tuple(range(len(ops))), (), (0,), (*outputs, *(t for k in kept for t in k.inputs)))
    graph = RowGraph(Graph({}, (), (0,), tuple(outputs)), (region, *kept), dict(enumerate(ops)))
    found = without_dead_channels(graph)
    assert found.nodes == graph.nodes
    return tuple(found.ops[i] for i in range(len(ops)))


def channels(*ops: RowOp) -> list[int]:
    """Number of channels of each operator's output."""
    return [op.writes.c for op in ops]


ONES = [[1, 2], [3, 4], [5, 6]]
"""Shape [3][2]."""


# ---- forwards: constants ----


def test_a_channel_at_its_zero_point_leaves_producer_and_reader() -> None:
    a, b = folded(conv(0, 1, ONES, [LIVE, DEAD, LIVE]), conv(1, 2, [[1, 2, 3], [4, 5, 6]], [7, 8]))
    assert (a.writes, b.reads, b.writes) == (Rows(H, W, 2), (Rows(H, W, 2),), Rows(H, W, 2))
    assert a.weights is not None and a.weights[:, 0, 0].tolist() == [[1, 2], [5, 6]]
    assert a.bias is not None and a.bias.tolist() == [LIVE, LIVE]
    assert a.multipliers is not None and a.multipliers.tolist() == [1 << 30, (1 << 30) + 2]
    assert a.shifts is not None and a.shifts.tolist() == [1, 1]
    assert b.weights is not None and b.weights[:, 0, 0].tolist() == [[1, 3], [4, 6]]
    assert b.bias is not None and b.bias.tolist() == [7, 8]
    assert (a.macs, b.macs) == (H * W * 4, H * W * 4)


# ---- backwards: unused channels ----


def test_a_producer_goes_with_its_only_reader() -> None:
    """Only a dead channel reads channel 2, and only an unused one reads channel 0."""
    a, b, c = folded(
        conv(0, 1, ONES), conv(1, 2, [[0, 1, 2], [0, 3, 0], [4, 5, 0]], [DEAD, LIVE, LIVE]), conv(2, 3, [[1, 1, 0]])
    )
    assert channels(a, b, c) == [1, 1, 1]
    assert a.weights is not None and a.weights[:, 0, 0].tolist() == [[3, 4]]
    assert b.weights is not None and b.weights[:, 0, 0].tolist() == [[3]]


def test_every_operator_keeps_a_channel() -> None:
    ops = conv(0, 1, ONES, [DEAD] * 3), depthwise(1, 2, [1, 1, 1], 3), conv(2, 3, np.ones((2, 3)), [1, 2])
    assert channels(*folded(*ops)) == [1, 1, 2]


# ---- channel by channel ----


def test_a_depthwise_convolution_follows_both_sides() -> None:
    first, last = conv(0, 1, np.ones((4, 2)), [LIVE, DEAD, LIVE, LIVE]), conv(2, 3, [[1, 1, 0, 1]])
    a, b, c = folded(first, depthwise(1, 2, [1, 2, 3, 4], 4, [5, 6, 7, 8]), last)
    assert channels(a, b, c) == [2, 2, 1]
    assert b.weights is not None and b.weights[0, 0].tolist() == [1, 4]
    assert b.bias is not None and b.bias.tolist() == [5, 8]
    assert b.macs == H * W * 9 * 2
