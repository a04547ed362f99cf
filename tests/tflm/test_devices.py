"""Networks on several devices: a process for each, with its own file alone, linked over loopback, under TFLM."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import EXAMPLE, MODELS, ROOT
from models import Net

import tflm_memopt
from tflm_memopt.results import OptimizedDevices
from tflm_memopt.runtime.verify_devices import DevicesVerification

pytestmark = pytest.mark.slow
SHAPES = EXAMPLE
RUNS = 2


def written(result: OptimizedDevices, folder: Path) -> list[Path]:
    """Each model in a folder of its own."""
    paths = []
    for number, one in enumerate(result.models):
        paths.append(folder / f"device{number}" / "model.tflite")
        paths[-1].parent.mkdir()
        paths[-1].write_bytes(one.model)
    return paths


def agree(model: bytes, devices: int, folder: Path) -> tuple[OptimizedDevices, DevicesVerification]:
    """The same bytes, the bytes on the wire, and the arenas' heads as predicted."""
    shared = tflm_memopt.optimize_devices(model, devices)
    found = tflm_memopt.verify_devices(model, written(shared, folder), runs=RUNS)
    assert found.bit_exact, found
    for said, ran in zip(shared.report.devices, found.devices, strict=True):
        assert (ran.sent, ran.received) == (found.runs * said.sent, found.runs * said.received)
        assert ran.arena.head == said.arena.head
    return shared, found


@pytest.mark.parametrize("devices", [2, 3, 4])
def test_the_example(devices: int, tmp_path: Path) -> None:
    shared, _ = agree(SHAPES.read_bytes(), devices, tmp_path)
    assert max(shared.report.split_weights) <= 1.1 / devices * shared.report.original_split_weights


@pytest.mark.parametrize("devices", [2, 3])
def test_strips_exchange_halos(devices: int, tmp_path: Path) -> None:
    """Large maps and few weights: rows are shared in front."""
    net = Net(3)
    x = net.conv2d(net.input((1, 24, 10, 3)), 8, kernel=(3, 3), stride=(2, 1))
    y = net.depthwise_conv2d(x, kernel=(5, 3))
    z = net.add(net.conv2d(y, 8), x)
    model = net.model(net.fully_connected(net.conv2d(z, 4, kernel=(3, 3), stride=(3, 3)), 32))
    shared, _ = agree(model, devices, tmp_path)
    assert len(shared.report.rows) > 2
    assert shared.report.channels


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        ("mlperf_tiny_ad_autoencoder_int8", 4),
        ("mlperf_tiny_kws_dscnn_int8", 3),
        ("mlperf_tiny_vww_96_int8", 2),
        ("mcunet_vww_80_float_io", 2),
    ],
)
def test_public_models(name: str, devices: int, tmp_path: Path) -> None:
    path = MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    shared, _ = agree(path.read_bytes(), devices, tmp_path)
    assert max(shared.report.split_weights) <= 1.1 / devices * shared.report.original_split_weights
    assert max(device.flash for device in shared.report.devices) < len(path.read_bytes())


def test_the_frontier_of_the_page() -> None:
    path, page = MODELS / "mlperf_tiny_kws_dscnn_int8.tflite", (ROOT / "docs/several-devices.md").read_text()
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    found = tflm_memopt.explore_devices(path, 3, link="10kB/s,2ms", clock="80MHz", core="cortex-m4")
    for p in found.points:
        row = (round(p.milliseconds), p.ram, p.flash, p.sent, p.devices, len(p.channels))
        assert f"| {' | '.join(f'{n:,}' for n in row)} |" in page
