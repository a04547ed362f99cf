"""Test the whole conversion at the level of bytes: what is converted, what stays unchanged, and the report."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net

import tflm_memopt
from tflm_memopt.convert import annotation, pipeline, policy
from tflm_memopt.errors import MemoptError, ModelError, UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.layout import offsets
from tflm_memopt.plan.planner import Options

SECONDS = 0.3


def network() -> bytes:
    net = Net(seed=1)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2))
    y = net.add(x, net.conv2d(net.depthwise_conv2d(x), 8, kernel=(3, 3)))
    return net.model(net.softmax(net.fully_connected(net.pool(y, kernel=(12, 12)), 10, out=(0.1, 0))))


def float_network() -> bytes:
    net = Net()
    x = net.input((1, 8, 8, 2), None, dtype="FLOAT32")
    return net.model(net.unary("RELU", x, dtype="FLOAT32", out=None))


def float_border() -> bytes:
    net = Net(seed=2)
    x = net.unary("QUANTIZE", net.input((1, 16, 16, 3), None, dtype="FLOAT32"))
    y = net.conv2d(net.conv2d(x, 8, kernel=(3, 3)), 4, kernel=(3, 3), stride=(2, 2))
    return net.model(net.unary("DEQUANTIZE", y, dtype="FLOAT32", out=None))


def two_subgraphs(*, planned: bool = True) -> bytes:
    """A model with two subgraphs. `planned`: TFLM plans a tensor of the second one, which is never called."""
    net = Net()
    tree = net.finished(net.conv2d(net.input((1, 8, 8, 2)), 4))
    own = schema.TensorT(shape=np.array([1, 4], np.int32), type=schema.TensorType.INT8, buffer=0, name="own")
    other = schema.SubGraphT(tensors=[own] * planned, inputs=[], outputs=[], operators=[], name="other")
    tree.subgraphs.append(other)
    return net.model(*tree.subgraphs[0].outputs)


def unknown_shape() -> bytes:
    net = Net()
    x = net.conv2d(net.input((1, 8, 8, 2)), 4)
    y = net.normalized(x)
    net.graph.tensors[y].shape = np.array([1, -1, 8, 4], np.int32)
    return net.model(y)


def refused_convolution() -> bytes:
    """A PAD and a grouped convolution, between supported ones."""
    net = Net(seed=3)
    y = net.conv2d(net.pad(net.conv2d(net.input((1, 8, 8, 2)), 4), [(0, 0), (1, 1), (1, 1), (0, 0)]), 6, kernel=(3, 3))
    filter_ = net.graph.tensors[net.graph.operators[-1].inputs[1]]
    filter_.shape = np.array([6, 3, 3, 2], np.int32)
    net.tree.buffers[filter_.buffer].data = np.asarray(net.tree.buffers[filter_.buffer].data)[: 6 * 3 * 3 * 2]
    return net.model(net.conv2d(y, 3))


# ---- annotate ----


def test_what_is_folded_runs_row_by_row() -> None:
    net = Net()
    x = net.pad(net.input((1, 8, 8, 2)), [(0, 0), (1, 1), (1, 1), (0, 0)])
    annotated = pipeline.annotate(read(net.model(net.conv2d(x, 3, kernel=(3, 3), padding="VALID"))).graph)
    (op,) = annotated.graph.ops
    assert op.stands_for == (0, 1)
    assert isinstance(annotated.support[op.index], RowOp)


def test_what_canonicalisation_made_of_builtin_operators_is_undone() -> None:
    graph = read(refused_convolution()).graph
    annotated = pipeline.annotate(graph)
    assert [op.type for op in annotated.graph.ops] == [op.type for op in graph.ops]
    assert annotated.graph.ops[1:3] == graph.ops[1:3]


def test_multiplications_are_counted_once() -> None:
    net = Net()
    data = net.model(net.fully_connected(net.conv2d(net.input((1, 4, 4, 2)), 3, kernel=(3, 3)), 5))
    assert pipeline.annotate(read(data).graph).macs == 4 * 4 * 3 * 9 * 2 + 48 * 5


def test_nothing_to_convert_is_no_plan() -> None:
    assert pipeline.make_plan(pipeline.annotate(read(float_network()).graph), Options()) is None


# ---- optimize ----


@pytest.mark.parametrize("op_per", ["region", "block"])
def test_a_model_gets_smaller(op_per: str) -> None:
    done = tflm_memopt.optimize(network(), name="net", op_per=op_per, seconds=SECONDS)  # type: ignore[arg-type]
    report = done.report
    assert report.changed
    assert done.plan is not None
    assert report.arena.total < report.original_arena.total
    assert report.arena.head == done.plan.head or report.arena.head == -(-done.plan.head // 16) * 16
    assert report.lower_bound_head <= done.plan.head
    assert (report.model, report.op_per, report.overhead, report.kept_builtin) == ("net", op_per, 1.0, ())
    assert report.flash.rewritten == len(done.model)


def test_the_report_lists_every_operator_in_its_block() -> None:
    done = tflm_memopt.optimize(network(), seconds=SECONDS)
    operators = [i for block in done.report.blocks for i in block.ops]
    assert sorted(operators) == list(range(len(read(network()).graph.ops)))
    for block in done.report.blocks:
        assert len(block.operators) == len(block.ops)
        assert 0 < block.bytes <= done.report.arena.head
        assert all(ring.bytes > 0 and ring.depth <= ring.rows for ring in block.rings)
        assert all((ring.depth == 0) == (block.strips > 0) for ring in block.rings)


def test_the_same_model_gives_the_same_bytes() -> None:
    first = tflm_memopt.optimize(network(), seconds=SECONDS).model
    offsets.forget()
    assert tflm_memopt.optimize(network(), seconds=SECONDS).model == first


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (float_network, policy.NOTHING_SUPPORTED),
        (two_subgraphs, "no operator calls subgraph 1"),
        (unknown_shape, str(annotation.DYNAMIC)),
    ],
)
def test_a_model_that_cannot_be_converted_comes_back(model, why: str) -> None:
    done = tflm_memopt.optimize(model(), seconds=SECONDS)
    assert (done.model, done.plan, done.report.changed) == (model(), None, False)
    assert done.report.why_unchanged.startswith(why)
    assert done.report.arena == done.report.original_arena
    assert done.report.blocks == ()


def test_subgraphs_that_nobody_calls_go() -> None:
    done = tflm_memopt.optimize(two_subgraphs(planned=False), seconds=SECONDS)
    assert done.report.changed and read(done.model).subgraphs == 1


def test_a_model_with_nothing_to_gain_comes_back() -> None:
    net = Net()
    data = net.model(net.normalized(net.unary("RELU6", net.normalized(net.input((1, 4))), out=(1 / 128, 0))))
    done = tflm_memopt.optimize(data, seconds=SECONDS)
    assert (done.model, done.report.changed, done.report.why_unchanged) == (data, False, policy.NO_GAIN)


def test_a_rewritten_model_has_nothing_more_to_gain() -> None:
    once = tflm_memopt.optimize(network(), seconds=SECONDS).model
    twice = tflm_memopt.optimize(once, seconds=SECONDS)
    assert (twice.model, twice.report.changed) == (once, False)


def test_what_stays_builtin_says_why() -> None:
    done = tflm_memopt.optimize(refused_convolution(), seconds=SECONDS)
    assert [(kept.index, kept.operator) for kept in done.report.kept_builtin] == [(2, "CONV_2D")]
    assert all(kept.reason and kept.code for kept in done.report.kept_builtin)


def test_int8_io_takes_the_conversions_away() -> None:
    plain = tflm_memopt.optimize(float_border(), seconds=SECONDS)
    done = tflm_memopt.optimize(float_border(), int8_io=True, seconds=SECONDS)
    assert plain.report.kept_builtin == done.report.kept_builtin == ()
    assert plain.report.interface == ()
    assert [(change.side, "INT8" in change.after) for change in done.report.interface] == [
        ("input", True),
        ("output", True),
    ]
    assert done.report.arena.total < plain.report.arena.total


@pytest.mark.parametrize("settings", [{"input": "cloud"}, {"op_per": "tensor"}])
def test_impossible_settings(settings: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=next(iter(settings.values()))):
        tflm_memopt.optimize(network(), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"", b"hello", network()[:40], network()[: len(network()) // 2]])
def test_bytes_that_are_no_model(data: bytes) -> None:
    with pytest.raises(ModelError):
        tflm_memopt.optimize(data)
    with pytest.raises(MemoptError):
        tflm_memopt.inspect(data)


# ---- inspect ----


def test_inspect_says_what_runs_row_by_row_and_what_does_not() -> None:
    seen = tflm_memopt.inspect(refused_convolution(), name="net")
    assert [(op.operator, op.supported) for op in seen.operators] == [
        ("CONV_2D", True),
        ("PAD", True),
        ("CONV_2D", False),
        ("CONV_2D", True),
    ]
    assert seen.operators[2].reason
    assert seen.operators[0].macs == 8 * 8 * 4 * 2
    assert seen.macs == sum(op.macs for op in seen.operators)


def test_inspect_finds_the_peak() -> None:
    seen = tflm_memopt.inspect(network())
    live = {op.index: op.live_bytes for op in seen.operators}
    assert seen.peak_operator is not None
    assert live[seen.peak_operator] == max(live.values())
    assert seen.arena.head >= max(live.values())


def test_inspect_and_optimize_know_the_same_of_a_model_that_is_left_whole() -> None:
    """Except for the subgraphs, its operators could run row by row."""
    model = two_subgraphs()
    seen, result = tflm_memopt.inspect(model), tflm_memopt.optimize(model)
    assert not any(op.supported for op in seen.operators)
    ((code, reason, hint),) = {(op.code, op.reason, op.hint) for op in seen.operators}
    assert (code, hint) == ("left_whole", annotation.ONE_SIGNATURE)
    assert result.report.why_unchanged.startswith(reason)
    assert [k.index for k in result.report.kept_builtin] == [op.index for op in seen.operators]
    assert seen.macs == result.report.macs.original == 0
