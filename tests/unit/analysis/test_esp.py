"""Test the ranges of times on Espressif's chips against published figures, also of networks outside the fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import pytest
from models import Net

from tflm_memopt.analysis import esp
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import read

MOBILENET = [
    (1, 64), (2, 128), (1, 128), (2, 256), (1, 256), (2, 512), *[(1, 512)] * 5, (2, 1024), (1, 1024),
]  # fmt: skip
"""Stride and channels of the separable convolutions of MobileNetV1."""


def mobilenet(size: int, channels: int, width: float, classes: int) -> bytes:
    net = Net(seed=1)
    x = net.conv2d(net.input((1, size, size, channels)), int(32 * width), kernel=(3, 3), stride=(2, 2))
    for stride, wide in MOBILENET:
        x = net.conv2d(net.depthwise_conv2d(x, stride=(stride, stride)), int(wide * width))
    x = net.pool(x, kernel=net.shape(x)[1:3])
    return net.model(net.softmax(net.fully_connected(x, classes)))


NETWORKS: Mapping[str, Callable[[], bytes]] = {
    "person_detect": partial(mobilenet, 96, 1, 0.25, 2),
    "mobilenet_v1": partial(mobilenet, 128, 3, 1.0, 10),
}


@cache
def graph(name: str) -> Graph:
    return read(NETWORKS[name]()).graph


@pytest.mark.parametrize("row", esp.data()["published"], ids=lambda row: f"{row['chip']} {row['kernel']}")
def test_published_cycles_of_kernels_are_in_their_ranges(row: dict[str, Any]) -> None:
    chip = esp.chip(row["chip"])
    assert chip
    costs = chip.kernels[row["kernel"]]
    least, most = (sum(row.get(unit, 0) * span[end] for unit, span in costs.items()) for end in (0, 1))
    assert least <= row["fast"] <= most
    if "counted" in row:
        low, high = chip.cycles_per_instruction
        assert low <= row["plain"] / row["counted"] <= high


@pytest.mark.parametrize("row", esp.data()["networks"], ids=lambda row: f"{row['chip']} {row['network']}")
def test_measured_networks_that_were_not_used_are_in_the_range(row: dict[str, Any]) -> None:
    chip = esp.chip(row["chip"])
    assert chip
    span = chip.original(graph(row["network"]))
    assert span
    low, high = row["milliseconds"]
    assert span[0] <= 1000 * row["mhz"] * low
    assert 1000 * row["mhz"] * high <= span[1]
