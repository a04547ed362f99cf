"""A network on several devices computes the output bytes of TFLM. Processes that communicate by sockets simulate the
devices.
"""

from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLE
from models import Net
from recording import predict_recording

import tflm_memopt
from tflm_memopt.answers.devices import OptimizedDevices
from tflm_memopt.api import optimize_planned
from tflm_memopt.convert.request import request
from tflm_memopt.devices.choice import shared_layers
from tflm_memopt.devices.network import Network, bytes_sent, cut, switch_of
from tflm_memopt.devices.sharding import DeviceSharding
from tflm_memopt.devices.verify import DevicesVerification
from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import Group

pytestmark = pytest.mark.slow
SHAPES = EXAMPLE
RUNS = 2


def written(result: OptimizedDevices, folder: Path) -> list[Path]:
    paths = []
    for number, one in enumerate(result.models):
        paths.append(folder / f"device{number}" / "model.tflite")
        paths[-1].parent.mkdir()
        paths[-1].write_bytes(one.model)
    return paths


def network_of(model: bytes) -> Network:
    def one(data: bytes, name: str, _limited: bool) -> tuple[tflm_memopt.Optimized, Planned | None]:
        return optimize_planned(data, name=name, effort=0.05)

    return Network(model, "model.tflite", request({"effort": 0.05}), one)


def sharing_layers(
    model: bytes, devices: int, switch: int | None = None, front: DeviceSharding = DeviceSharding.ROWS
) -> OptimizedDevices:
    return shared_layers(network_of(model), devices, switch, front)


def agree(model: bytes, shared: OptimizedDevices, folder: Path) -> DevicesVerification:
    found = tflm_memopt.verify_devices(model, written(shared, folder), runs=RUNS)
    assert found.bit_exact, found
    for said, one, ran in zip(shared.report.devices, shared.models, found.devices, strict=True):
        assert (ran.sent, ran.received) == (found.runs * said.sent, found.runs * said.received)
        here = predict_recording(one.model)
        assert (ran.arena.head, ran.arena.tail, ran.arena.total) == (here.head, here.tail, here.total)
        assert said.arena == one.report.arena
        assert (said.arena.head, said.flash) == (here.head, len(one.model))
    return found


def test_the_example(tmp_path: Path) -> None:
    shared = tflm_memopt.optimize_devices(SHAPES, 2, effort=0.05)
    agree(SHAPES.read_bytes(), shared, tmp_path)
    assert shared.report.ram <= shared.report.alone.arena.total
    assert shared.report.flash < shared.report.alone.flash


@pytest.mark.parametrize("front", [DeviceSharding.ROWS, DeviceSharding.OVERLAP])
def test_stripes(front: DeviceSharding, tmp_path: Path) -> None:
    net = Net(3)
    x = net.conv2d(net.input((1, 24, 10, 3)), 8, kernel=(3, 3), stride=(2, 1))
    y = net.depthwise_conv2d(x, kernel=(5, 3))
    z = net.add(net.conv2d(y, 8), x)
    model = net.model(net.fully_connected(net.conv2d(z, 4, kernel=(3, 3), stride=(3, 3)), 32))
    shared = sharing_layers(model, 3, 3, front)
    agree(model, shared, tmp_path)
    assert len(shared.report.rows) + len(shared.report.overlap) == 3
    assert shared.report.channels


@pytest.mark.parametrize("cuts", [[5], [1, 4, 6]])
def test_one_behind_the_other(cuts: list[int], tmp_path: Path) -> None:
    net = Net(5)
    x = net.conv2d(net.input((1, 12, 10, 3)), 8, kernel=(3, 3), stride=(2, 1))
    y = net.conv2d(net.depthwise_conv2d(net.conv2d(x, 12), kernel=(5, 3)), 8)
    z = net.depthwise_conv2d(net.add(y, x), kernel=(3, 3), stride=(2, 2))
    model = net.model(net.fully_connected(net.add(z, z), 8))
    shared = tflm_memopt.optimize_devices(model, len(cuts) + 1, cut=cuts, effort=0.05)
    agree(model, shared, tmp_path)
    assert [stage.first for stage in shared.report.stages] == [0, *cuts]
    assert sum(d.weights for d in shared.report.devices) == shared.report.original_weights


def test_layers_in_partial_sums(tmp_path: Path) -> None:
    net = Net(7)
    x = net.conv2d(net.input((1, 10, 8, 3)), 48, kernel=(3, 3), stride=(2, 2))
    y = net.conv2d(net.depthwise_conv2d(x, kernel=(3, 3)), 6, kernel=(3, 1), stride=(2, 1))
    z = net.add(net.conv2d(net.conv2d(y, 60), 6), y)
    model = net.model(net.fully_connected(net.fully_connected(net.mean(z, (1, 2)), 64), 4))
    shared = sharing_layers(model, 3)
    agree(model, shared, tmp_path)
    assert len(shared.report.inputs) >= 3
    graph = read(model).graph
    alone = bytes_sent(graph, cut(graph, switch_of(graph, 3), len(graph.ops)), 3)
    assert shared.report.sent < 0.9 * alone


def test_channels_of_a_convolution_that_skips_the_last_rows(tmp_path: Path) -> None:
    net = Net()
    x = net.conv2d(net.input((1, 6, 4, 2)), 4, kernel=(3, 3))
    model = net.model(net.conv2d(x, 8, kernel=(1, 1), stride=(2, 2)))
    shardings = dict.fromkeys((op.index for op in read(model).graph.ops), DeviceSharding.CHANNELS)
    agree(model, network_of(model).converted(shardings, 2), tmp_path)


def wide() -> bytes:
    net = Net(4)
    x = net.conv2d(net.input((1, 12, 24, 3)), 8, kernel=(3, 3))
    for channels in (24, 24, 24, 4):
        x = net.conv2d(x, channels, kernel=(3, 3))
    return net.model(x)


def test_tiles_between_messages(tmp_path: Path) -> None:
    model = wide()
    options: dict[str, Any] = {"cut": [1, 4], "effort": 0.3}
    shared = tflm_memopt.optimize_devices(model, 3, **options)
    plan = shared.models[1].plan
    assert plan
    (group,) = plan.steps
    assert isinstance(group, Group)
    assert [stage.nest.tile for stage in group.stages] == [24, 1, 1, 1, 24]
    by_rows = tflm_memopt.optimize_devices(model, 3, **options, without=["tiles"]).report
    assert shared.report.devices[1].arena.total < by_rows.devices[1].arena.total
    agree(model, shared, tmp_path)
