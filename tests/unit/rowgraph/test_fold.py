"""Test which channels are folded or kept, and the operators that lose channels.

tests/property/test_fold.py shows under TFLM that no output byte changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from models import Net

import tflm_memopt
from tflm_memopt.convert.misfit import up
from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp, Rows, Window
from tflm_memopt.rowgraph.fold import without_dead_channels
from tflm_memopt.rowgraph.graph import Kept, Region, RowGraph

H, W = 4, 5
LIVE, DEAD, STUCK = 0, -(1 << 20), 1 << 20
"""Biases with which a channel that ends in RELU varies, always equals its zero point, or always equals 127."""
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


def folded(*ops: RowOp, outputs: Sequence[int] = (), kept: Sequence[Kept] = ()) -> tuple[RowOp, ...]:
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


def test_even_where_windows_meet_padding() -> None:
    a, b = folded(conv(0, 1, ONES, [LIVE, DEAD, LIVE]), conv(1, 2, np.ones((1, 3, 3, 3)), window=SAME))
    assert (channels(a), b.macs) == ([2], H * W * 18)


def test_another_constant_goes_into_the_bias_of_a_reader_without_padding() -> None:
    a, b = folded(conv(0, 1, ONES, [LIVE, STUCK, LIVE]), conv(1, 2, [[1, 2, 3], [4, -5, 6]], [7, 8]))
    assert channels(a) == [2]
    assert b.bias is not None and b.bias.tolist() == [7 + 2 * 127, 8 - 5 * 127]


def test_a_reader_without_bias_gets_one() -> None:
    _, b = folded(conv(0, 1, ONES, [LIVE, STUCK, LIVE]), conv(1, 2, [[1, 2, 3], [4, -5, 6]]))
    assert b.bias is not None and b.bias.tolist() == [2 * 127, -5 * 127]
    _, b = folded(conv(0, 1, ONES, [LIVE, DEAD, LIVE]), conv(1, 2, [[1, 2, 3], [4, -5, 6]]))
    assert b.bias is None


def test_a_bias_wraps_as_the_sum_does() -> None:
    _, b = folded(conv(0, 1, ONES, [LIVE, STUCK, LIVE]), conv(1, 2, [[0, 1, 0], [0, 0, 1]], [(1 << 31) - 1, 0]),
                  conv(2, 3, [[1, 1]]))[:2]  # fmt: skip
    assert b.bias is not None and b.bias[0] == 126 - (1 << 31)


def test_another_constant_stays_where_windows_meet_padding() -> None:
    a, _ = folded(conv(0, 1, ONES, [LIVE, STUCK, LIVE]), conv(1, 2, np.ones((1, 3, 3, 3)), window=SAME))
    assert channels(a) == [3]


def test_the_zero_point_is_the_readers() -> None:
    shifted = conv(1, 2, np.ones((1, 3, 3, 3)), window=SAME, input_zero_points=(127,))
    assert channels(*folded(conv(0, 1, ONES, [LIVE, STUCK, LIVE]), shifted)) == [2, 1]
    assert channels(*folded(conv(0, 1, ONES, [LIVE, DEAD, LIVE]), shifted)) == [3, 1]


def test_a_sum_that_may_wrap_is_no_constant() -> None:
    assert channels(*folded(conv(0, 1, ONES, [LIVE, -(1 << 31), LIVE]), conv(1, 2, [[1, 2, 3]]))) == [3, 1]


def test_one_multiplier_for_all_channels_stays_one() -> None:
    one = {"multipliers": np.array([1 << 30], np.int32), "shifts": np.array([0], np.int8)}
    a, _ = folded(replace(conv(0, 1, ONES, [LIVE, DEAD, LIVE]), **one), conv(1, 2, [[1, 2, 3]]))
    assert a.multipliers is not None and a.multipliers.tolist() == [1 << 30]
    assert channels(a) == [2]


# ---- backwards: unused channels ----


def test_a_channel_without_weight_leaves_its_producer() -> None:
    a, b = folded(conv(0, 1, ONES), conv(1, 2, [[1, 0, 3], [4, 0, 6]]))
    assert channels(a, b) == [2, 2]
    assert b.weights is not None and b.weights[:, 0, 0].tolist() == [[1, 3], [4, 6]]


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


def test_a_dead_depthwise_channel_without_bias_is_dead_behind_it() -> None:
    """With a bias it is another constant, and stays unless the reader's bias absorbs it."""
    first = conv(0, 1, np.ones((2, 2)), [LIVE, DEAD])
    padded = conv(2, 3, np.ones((1, 3, 3, 2)), window=SAME)
    assert channels(*folded(first, depthwise(1, 2, [1, 1], 2), padded)) == [1, 1, 1]
    assert channels(*folded(first, depthwise(1, 2, [1, 1], 2, [0, 9]), padded)) == [2, 2, 1]
    assert channels(*folded(first, depthwise(1, 2, [1, 1], 2, [0, 9]), conv(2, 3, [[1, 1]]))) == [1, 1, 1]


def test_outputs_of_one_input_channel_go_together() -> None:
    first, weights = conv(0, 1, np.ones((2, 2))), [1, 2, 3, 4]
    assert channels(*folded(first, depthwise(1, 2, weights, 2), conv(2, 3, [[1, 1, 0, 1]]))) == [2, 4, 1]
    assert channels(*folded(first, depthwise(1, 2, weights, 2), conv(2, 3, [[1, 1, 0, 0]]))) == [1, 2, 1]


def test_outputs_of_a_lone_input_channel_go_one_by_one() -> None:
    a, b, c = folded(conv(0, 1, [[1, 1]]), depthwise(1, 2, [1, 2, 3, 4], 1), conv(2, 3, [[1, 1, 0, 1]]))
    assert channels(a, b, c) == [1, 3, 1]


@pytest.mark.parametrize("kind", [Kind.AVERAGE_POOL, Kind.MAX_POOL, Kind.MEAN, Kind.LOOKUP])
def test_pools_and_the_like_follow_both_sides(kind: Kind) -> None:
    first, last = conv(0, 1, np.ones((4, 2)), [LIVE, DEAD, LIVE, LIVE]), conv(2, 3, [[1, 1, 0, 1]])
    ops = folded(first, row_op(kind, (1,), 2, 4, 4), last)
    assert channels(*ops) == [2, 2, 1]
    assert ops[1].reads == (Rows(H, W, 2),)


def test_add_loses_what_no_operand_and_no_reader_has() -> None:
    a, b = conv(0, 1, np.ones((3, 2)), [DEAD, DEAD, LIVE]), conv(0, 2, np.ones((3, 2)), [DEAD, LIVE, LIVE])
    ops = folded(a, b, row_op(Kind.ADD, (1, 2), 3, 3, 3, param=20), conv(3, 4, [[1, 1, 1]]))
    assert channels(*ops) == [2, 2, 2, 1]
    ops = folded(a, b, row_op(Kind.ADD, (1, 2), 3, 3, 3, param=20), conv(3, 4, [[1, 1, 0]]))
    assert channels(*ops) == [1, 1, 1, 1]


# ---- several readers, borders ----


def test_all_readers_must_do_without() -> None:
    first = conv(0, 1, ONES, [LIVE, STUCK, LIVE])
    plain, padded = conv(1, 2, [[1, 1, 1]]), conv(1, 3, np.ones((1, 3, 3, 3)), window=SAME)
    assert channels(*folded(first, plain, conv(1, 3, [[1, 1, 1]]), outputs=(2, 3))) == [2, 1, 1]
    a, b, c = folded(first, plain, padded, outputs=(2, 3))
    assert channels(a, b, c) == [3, 1, 1]
    assert b.reads == c.reads == (Rows(H, W, 3),)
    assert b.bias is None  # it still reads the constant


def test_a_channel_that_one_reader_keeps_stays_in_those_that_work_channel_by_channel() -> None:
    ops = conv(0, 1, ONES), row_op(Kind.LOOKUP, (1,), 2, 3, 3), conv(2, 3, [[1, 0, 1]]), conv(1, 4, [[1, 1, 1]])
    assert channels(*folded(*ops, outputs=(3, 4))) == [3, 3, 1, 1]


def test_softmax_depends_on_all_channels() -> None:
    ops = conv(0, 1, ONES, [LIVE, DEAD, LIVE]), row_op(Kind.SOFTMAX, (1,), 2, 3, 3), conv(2, 3, [[1, 0, 1]])
    assert channels(*folded(*ops)) == [3, 3, 1]


def test_outputs_of_the_model_keep_their_channels() -> None:
    ops = conv(0, 1, ONES, [LIVE, DEAD, LIVE]), conv(1, 2, [[1, 1, 1]])
    assert channels(*folded(*ops, outputs=(1, 2))) == [3, 1]


def test_what_a_builtin_operator_reads_keeps_its_channels() -> None:
    ops = conv(0, 1, ONES, [LIVE, DEAD, LIVE]), conv(1, 2, [[1, 1, 1]])
    assert channels(*folded(*ops, kept=[Kept(9, (1,), (7,))])) == [3, 1]


def test_the_models_input_keeps_its_channels() -> None:
    (a,) = folded(conv(0, 1, [[1, 0]]))
    assert a.reads == (Rows(H, W, 2),)


def test_a_reader_that_cuts_pixels_otherwise_keeps_all_channels() -> None:
    flat = conv(1, 2, np.ones((1, 6)), reads=(Rows(H, W // 2 + 1, 6),))
    assert channels(*folded(conv(0, 1, ONES, [LIVE, DEAD, LIVE]), flat)) == [3, 1]


def test_nothing_dead_changes_nothing() -> None:
    ops = conv(0, 1, ONES, [LIVE] * 3), depthwise(1, 2, [1, 2, 3], 3), conv(2, 3, [[1, 2, 3]])
    for before, after in zip(ops, folded(*ops), strict=True):
        assert before == after
        np.testing.assert_array_equal(before.weights, after.weights)


# ---- in the conversion ----


def half_dead(*, outputs: int = 1) -> bytes:
    """Four of eight channels between two convolutions are dead."""
    net = Net(3)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), activation="RELU", out=(0.1, -128))
    bias = net.graph.operators[-1].inputs[2]
    values = np.array([DEAD if c % 2 else LIVE for c in range(8)], np.int32)
    net.tree.buffers[net.graph.tensors[bias].buffer].data = values.view(np.uint8)
    y = net.conv2d(net.depthwise_conv2d(x, bias=False, out=(0.1, -128)), 4)
    return net.model(*[y, x][:outputs])


def test_the_report_counts_what_was_folded() -> None:
    folding, plain = (tflm_memopt.optimize(half_dead(), fold=fold).report for fold in (True, False))
    assert (folding.dead_channels, plain.dead_channels) == (8, 0)
    assert folding.macs.original == plain.macs.original == plain.macs.rewritten == 24 * 24 * (27 * 8 + 9 * 8 + 8 * 4)
    assert folding.macs.rewritten == 24 * 24 * (27 * 4 + 9 * 4 + 4 * 4) == folding.overhead * folding.macs.original
    assert folding.arena.head < plain.arena.head
    assert folding.flash.rewritten < plain.flash.rewritten


def test_a_budget_is_of_the_original() -> None:
    """Compute that folding saves may be spent on recomputation, for less RAM."""
    net = Net(1)
    x = net.conv2d(net.input((1, 12, 12, 2)), 24, out=(0.4, -5))
    for _ in range(2):
        x = net.depthwise_conv2d(x, activation="RELU6", out=(0.3, -7))
    y = net.conv2d(x, 1, kernel=(3, 3), stride=(2, 2))
    weights = net.tree.buffers[net.graph.tensors[net.graph.operators[-1].inputs[1]].buffer]
    weights.data = np.where(np.arange(9 * 24) % 24 < 12, weights.data, 0).astype(np.uint8)
    once, more = (tflm_memopt.optimize(net.model(y), max_macs=most).report for most in (None, 0.9))
    assert once.overhead <= 0.5 < more.overhead <= 0.9
    assert more.arena.total < once.arena.total
    with pytest.raises(UsageError, match=r"no plan reaches F = 0\.3") as error:
        tflm_memopt.optimize(net.model(y), max_macs=0.3)
    assert error.value.hint == f"--max-macs {up(once.overhead)}"


def test_inspection_counts_them_per_operator() -> None:
    result = tflm_memopt.inspect(half_dead())
    assert [(op.channels, op.dead_channels) for op in result.operators] == [(8, 4), (8, 4), (4, 0)]
    assert (result.channels, result.dead_channels) == (20, 8)
    assert result.dead_macs == result.macs // 2
    assert tflm_memopt.inspect(half_dead(outputs=2)).dead_channels == 0  # the output needs all depthwise channels


def test_tensors_between_blocks_say_their_new_size() -> None:
    graph = read(tflm_memopt.optimize(half_dead(), op_per="block").model).graph
    written = [graph.tensors[op.outputs[0]].shape for op in graph.ops]
    assert len(written) > 1
    assert written == [(1, 24, 24, 4)] * len(written)
