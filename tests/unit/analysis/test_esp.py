"""Compare the estimated times on Espressif's chips with published times."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest
from models import Net

from tflm_memopt.analysis import esp
from tflm_memopt.analysis.costs import Work, measured
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import read

MOBILENET = [
    (1, 64), (2, 128), (1, 128), (2, 256), (1, 256), (2, 512), *[(1, 512)] * 5, (2, 1024), (1, 1024),
]  # fmt: skip


def mobilenet(size: int, channels: int, width: float, classes: int) -> bytes:
    net = Net(seed=1)
    x = net.conv2d(net.input((1, size, size, channels)), int(32 * width), kernel=(3, 3), stride=(2, 2))
    for stride, wide in MOBILENET:
        x = net.conv2d(net.depthwise_conv2d(x, stride=(stride, stride)), int(wide * width))
    x = net.pool(x, kernel=net.shape(x)[1:3])
    return net.model(net.softmax(net.fully_connected(x, classes)))


def ds_cnn() -> bytes:
    net = Net(seed=1)
    x = net.conv2d(net.input((1, 49, 10, 1)), 64, kernel=(10, 4), stride=(2, 2))
    for _ in range(4):
        x = net.conv2d(net.depthwise_conv2d(x), 64)
    return net.model(net.fully_connected(net.mean(x, (1, 2)), 12))


NETWORKS: Mapping[str, Callable[[], bytes]] = {
    "ds_cnn": ds_cnn,
    "person_detect": partial(mobilenet, 96, 1, 0.25, 2),
    "mobilenet_v1": partial(mobilenet, 128, 3, 1.0, 10),
}


@cache
def graph(name: str) -> Graph:
    return read(NETWORKS[name]()).graph


TICK = 10


def computed(row: dict[str, Any]) -> tuple[float, float]:
    """TiGrIS waits after each tile, so half a FreeRTOS tick per tile is subtracted from the published time."""
    low, high = (each - row.get("waits", 0) * TICK / 2 for each in row["milliseconds"])
    return low, high


def named(row: dict[str, Any]) -> str:
    return " ".join(str(row[key]) for key in ("chip", "network", "milliseconds"))


def test_costs_contain_the_published_cycles_of_every_kernel() -> None:
    rows = measured("esp.json")["published"]
    assert len(rows) == 28
    for row in rows:
        chip = esp.chip(row["chip"])
        assert chip
        ranges = chip.kernels[row["kernel"]]
        low, high = (sum(row[unit] * span[end] for unit, span in ranges.items()) for end in (0, 1))
        assert low <= row["fast"] <= high, row
        if "counted" in row and "plain" in row:
            low, high = chip.cycles_per_instruction
            assert low * row["counted"] <= row["plain"] <= high * row["counted"], row


@pytest.mark.parametrize("row", [row for row in measured("esp.json")["networks"] if "fast" not in row], ids=named)
def test_measured_networks_that_were_not_used_are_in_the_range(row: dict[str, Any]) -> None:
    chip = esp.chip(row["chip"])
    assert chip
    network = graph(row["network"])
    span = chip.operators(network, network.ops)
    assert span
    low, high = computed(row)
    assert span[0] <= 1000 * row["mhz"] * low
    assert 1000 * row["mhz"] * high <= span[1]


def test_copied_weights_are_read_once_in_flash() -> None:
    chip = esp.chip("ESP32-S3")
    assert chip
    again = Work("ESP_CONV pixels", macs=6_400_000, weights=6_400_000, written=12_800, pixels=100, iterations=100)
    copied = replace(again, copied=64_000, spared=99 * 64_000)
    spans = [chip.plan([work]) for work in (again, copied)]
    assert spans[0]
    assert spans[1]
    assert spans[0][1] - spans[1][1] == pytest.approx(99 * 64_000 * chip.flash_cycles_per_byte)
