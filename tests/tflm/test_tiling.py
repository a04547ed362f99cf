"""Chains of builtin operators that are split into stripes of rows or groups of channels have the same output bytes as
in TFLM.
"""

from collections.abc import Callable

import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import thinned
from models import Net
from planning import lowered
from property.oracle import assert_same_bytes, original, rewritten
from property.oracle import run as inference

from tflm_memopt.convert import pipeline
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model.reader import read
from tflm_memopt.plan.planner import plan
from tflm_memopt.rewrite.tiling import Tiling, channel_unit, fan_out
from tflm_memopt.runtime.stimuli import stimuli
from tflm_memopt.tflm.libraries import REFERENCE


def strided(net: Net, x: int) -> int:
    return net.conv2d(net.conv2d(x, 6, kernel=(3, 2), stride=(2, 1), padding="SAME"), 4, kernel=(2, 2))


def dilated(net: Net, x: int) -> int:
    return net.depthwise_conv2d(net.conv2d(x, 6, kernel=(3, 3), dilation=(2, 2), padding="SAME"))


def padded(net: Net, x: int) -> int:
    x = net.conv2d(net.pad(net.conv2d(x, 6), [(0, 0), (1, 2), (1, 0), (0, 0)]), 4, kernel=(3, 3), padding="VALID")
    return net.unary("LOGISTIC", x, out=(1 / 256, -128))


def pooled(net: Net, x: int) -> int:
    return net.pool(net.depthwise_conv2d(x, multiplier=2, stride=(1, 1)), kind="MAX_POOL_2D", kernel=(2, 2))


CHAINS: list[Callable[[Net, int], int]] = [strided, dilated, padded, pooled]


def in_parts(data: bytes, tiling: Tiling) -> bytes:
    source, options = read(data), ConversionOptions(ops="builtin", seconds=0.05)
    parts = pipeline.in_parts(pipeline.builtin_alone(source.graph), (tiling,), REFERENCE, "ilp32")
    planned = pipeline.checked(parts, plan(parts, options))
    return lowered(source, planned, options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "activations"), thinned([*((b, "INT8") for b in CHAINS), *((b, "INT16") for b in (strided, dilated))], 3)
)
def test_stripes_give_the_same_bytes(build: Callable[[Net, int], int], activations: str) -> None:
    net = Net(seed=3, activations=activations)
    x = build(net, net.input((1, 17, 9, 4)))
    data = net.model(x)
    ops = tuple(range(len(read(data).graph.ops)))
    for count in range(2, len(ops) + 1):
        _, height, width, _ = net.shape(x)
        for rows, columns in ((2, 1), (3, 1), (min(5, height), 1), (1, 2), (2, 3)):
            tiling = Tiling(ops[:count], rows, min(columns, width))
            assert_same_bytes(data, in_parts(data, tiling), seed=rows)


@pytest.mark.slow
def test_channel_groups_give_the_same_bytes() -> None:
    net = Net(seed=5)
    x = net.conv2d(net.input((1, 9, 7, 5)), 11, kernel=(3, 3), padding="SAME")
    data = net.model(net.pool(net.depthwise_conv2d(x, multiplier=2), kernel=(3, 3), stride=(2, 2)))
    for parts in (2, 3, 10):
        assert_same_bytes(data, in_parts(data, Tiling((0, 1, 2), channels=parts)), seed=parts)


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "unit"), [((1, 4, 12), 3), ((2, 4, 1), 6), ((4, 1, 2), 6), ((1, 6, 4), 6)])
def test_channel_groups_keep_the_groups_of_convolutions_together(groups: tuple[int, ...], unit: int) -> None:
    net = Net(seed=6)
    x = net.conv2d(net.input((1, 9, 7, 4)), 12, kernel=(3, 3), groups=groups[0])
    x = net.conv2d(x, 24, kernel=(2, 2), groups=groups[1]) if groups[1] > 1 else net.depthwise_conv2d(x, multiplier=2)
    data = net.model(net.pool(net.conv2d(x, 12, groups=groups[2]) if groups[2] > 1 else x, stride=(2, 2)))
    graph = read(data).graph
    ops = fan_out(graph, graph.ops[0])
    assert ops == graph.ops
    assert channel_unit(graph, ops) == unit
    for parts in {2, 12 // unit}:
        new = in_parts(data, Tiling(tuple(op.index for op in ops), channels=parts))
        assert_same_bytes(data, new, seed=parts)


def words(net: Net, count: int = 40) -> int:
    indices = net.input((1, count), None, dtype="INT32")
    table = net.tensor((30, 13), "INT8", (0.05, 3), data=net.rng.integers(-128, 128, (30, 13)))
    y = net.tensor((1, count, 13), "INT8", (0.05, 3))
    net.op("GATHER", [table, indices], [y], schema.GatherOptionsT(axis=0))
    return net.mean(y, (1,), keep=False)


def hidden(net: Net) -> int:
    return net.unary("LOGISTIC", net.fully_connected(net.input((1, 30)), 21), out=(1 / 256, -128))


def averaged(net: Net) -> int:
    x = net.conv2d(net.input((1, 9, 7, 5)), 11, kernel=(3, 3), stride=(2, 1), padding="SAME")
    return net.mean(net.pool(x, kernel=(3, 3), stride=(1, 1), padding="SAME"), (1, 2), keep=True)


@pytest.mark.slow
@pytest.mark.parametrize("build", thinned([hidden, words, averaged], 1))
def test_other_operators_in_channel_groups(build: Callable[[Net], int]) -> None:
    net = Net(seed=6)
    data = net.model(build(net))
    graph = read(data).graph
    run = fan_out(graph, graph.ops[0])
    assert [op.index for op in run] == list(range(len(graph.ops)))
    before = original(data)
    for parts in (2, 3, 10):
        for count in range(1, len(run) + 1):
            after = rewritten(in_parts(data, Tiling(tuple(range(count)), channels=parts)))
            for case in stimuli(graph, [graph.tensors[t] for t in graph.inputs], 2, seed=parts):
                a, b = (inference(x, case.values, 1) for x in (before, after))
                assert a[0].tobytes() == b[0].tobytes()
