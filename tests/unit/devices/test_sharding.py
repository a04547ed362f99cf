"""Test how layers are divided among several devices."""

from collections import Counter

import pytest
from conftest import EXAMPLE
from models import Net

from tflm_memopt.devices.links import Exchange, LinkSpeed, done
from tflm_memopt.devices.sharding import DeviceSharding, possible_shardings, shard
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import read
from tflm_memopt.ops.message import RECEIVE, SEND, message_of
from tflm_memopt.ops.partial import SUMS, weights_of

SHAPES = EXAMPLE


@pytest.fixture(scope="module")
def graph() -> Graph:
    return read(SHAPES.read_bytes()).graph


def preferred(graph: Graph, *order: DeviceSharding) -> dict[int, DeviceSharding]:
    return {op.index: next(one for one in order if one in possible_shardings(graph, op)) for op in graph.ops}


@pytest.mark.parametrize("devices", [2, 3, 4])
@pytest.mark.parametrize("first", [DeviceSharding.ROWS, DeviceSharding.CHANNELS, DeviceSharding.INPUTS])
def test_all_that_is_sent_is_received_once(graph: Graph, devices: int, first: DeviceSharding) -> None:
    sharded = shard(graph, preferred(graph, first, DeviceSharding.CHANNELS, DeviceSharding.WHOLE), devices, 9)
    seen = Counter[tuple[int, str, int]]()
    for device, one in enumerate(sharded.graphs):
        for op in one.ops:
            message = message_of(op)
            if message:
                assert message.identity == 9
                sends = op.options["custom_code"] == SEND
                assert device == (message.sender if sends else message.receiver)
                seen[message.step, op.options["custom_code"], device] += 1
    steps = range(len(sharded.sent))
    assert sorted((step, code) for step, code, _ in seen) == [(s, c) for s in steps for c in (RECEIVE, SEND)]
    assert set(seen.values()) == {1}


def test_weights_split_by_inputs_are_there_once(graph: Graph) -> None:
    sharded = shard(graph, preferred(graph, DeviceSharding.INPUTS, DeviceSharding.CHANNELS, DeviceSharding.WHOLE), 3, 0)
    for op in graph.ops:
        made = [
            [one.tensors[t].nbytes for p in one.ops if p.stands_for == (op.index,) for t in weights_of(p)]
            for one in sharded.graphs
        ]
        if DeviceSharding.INPUTS in possible_shardings(graph, op):
            assert sum(map(sum, made)) == sum(graph.tensors[t].nbytes for t in op.inputs[1:])
            assert max(map(sum, made)) <= 1.1 / 3 * sum(map(sum, made)) + 4 * graph.tensors[op.outputs[0]].shape[-1]


def test_parts_of_int4_weights_are_int8() -> None:
    net = Net()
    x = read(net.model(net.int4(net.conv2d(net.input((1, 4, 4, 6)), 5, per_channel=False)))).graph
    (op,) = x.ops
    for sharding in (DeviceSharding.CHANNELS, DeviceSharding.INPUTS):
        graphs = shard(x, {op.index: sharding}, 2, 0).graphs
        layers = [(g, p) for g in graphs for p in g.ops if p.type == "CONV_2D" or p.options.get("custom_code") == SUMS]
        assert {g.tensors[p.inputs[1]].dtype for g, p in layers} == {"INT8"}


def test_channels_are_split_between_the_groups_of_a_convolution() -> None:
    net = Net()
    graph = read(net.model(net.conv2d(net.input((1, 8, 8, 6)), 12, groups=3))).graph
    assert possible_shardings(graph, graph.ops[0]) == (
        DeviceSharding.WHOLE,
        DeviceSharding.ROWS,
        DeviceSharding.OVERLAP,
        DeviceSharding.CHANNELS,
    )
    graphs = shard(graph, {0: DeviceSharding.CHANNELS}, 2, 0).graphs
    convolutions = [(g, op) for g in graphs for op in g.ops if op.type == "CONV_2D"]
    assert [[g.tensors[t].shape for t in (*op.inputs[:2], *op.outputs)] for g, op in convolutions] == [
        [(1, 8, 8, 2), (4, 1, 1, 2), (1, 8, 8, 4)],
        [(1, 8, 8, 4), (8, 1, 1, 2), (1, 8, 8, 8)],
    ]


def test_a_stack_without_exchange_receives_its_input_alone() -> None:
    """A device that receives no rows computes all rows that its windows read."""
    net = Net()
    x = net.conv2d(net.input((1, 16, 4, 2)), 6, kernel=(3, 3))
    y = net.add(net.depthwise_conv2d(net.pad(x, ((0, 0), (2, 1), (0, 0), (0, 0))), kernel=(4, 1), padding="VALID"), x)
    graph = read(net.model(net.fully_connected(net.conv2d(y, 3, kernel=(3, 3), stride=(2, 2)), 2))).graph
    stack = {op.index: DeviceSharding.OVERLAP for op in graph.ops[:-1]}
    sharded = shard(graph, stack | {graph.ops[-1].index: DeviceSharding.WHOLE}, 3, 0)
    messages = {message for one in sharded.graphs for op in one.ops if (message := message_of(op))}
    assert sorted((m.sender, m.receiver) for m in messages) == [(0, 1), (0, 2), (1, 0), (2, 0)]


def test_messages_queue_on_a_line_while_their_sender_goes_on() -> None:
    first = [Exchange(0.5, (0, 1), True, 100)] * 3
    second = [Exchange(0.0, (0, 1), False, 100)] * 3
    assert done([first, second], [0, 1], LinkSpeed(1e5, 2)) == (1.5, 0.5 + 3 + 2 + 1)


@pytest.mark.parametrize("computes", [0.25, 4.0])
def test_both_directions_are_lines_of_their_own(computes: float) -> None:
    first = [Exchange(computes, (0, 1), True, 100), Exchange(0, (1, 0), False, 100)]
    second = [Exchange(computes, (1, 0), True, 100), Exchange(0, (0, 1), False, 100)]
    assert done([first, second], [0, 0], LinkSpeed(1e5)) == (computes + 1, computes + 1)
