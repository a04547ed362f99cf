"""Predicted arenas equal TFLM's arenas on a Cortex-M4 and in the official wheel."""

import contextlib
import importlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import thinned
from models import Net
from recording import predict_recording
from tflm.region_model import region_model
from unit.analysis.arena_zoo import REGION, ZOO, lstm
from unit.tflm import cortex_m4

import tflm_memopt
from tflm_memopt.emit.resolver import arena_bytes
from tflm_memopt.errors import ModelError
from tflm_memopt.model import writer
from tflm_memopt.model.reader import read
from tflm_memopt.tflm.arena import Arena, predict
from tflm_memopt.tflm.libraries import EARLY_2023

AMPLE = 1 << 23
FIGURE = re.compile(r"Arena allocation (head|tail|total) (\d+) bytes")

Measure = Callable[[bytes], dict[str, int]]


def _built(name: str) -> bytes:
    return REGION() if name == "region" else ZOO[name]()


def assert_measured(model: bytes, figures: cortex_m4.Measured) -> None:
    arena = predict(model)
    assert (arena.head, arena.total, arena.min) == figures
    assert arena.exact
    assert arena.tail == arena.total - arena.head


@pytest.mark.parametrize("name", cortex_m4.ZOO)
def test_as_measured_on_a_cortex_m4(name: str) -> None:
    assert_measured(_built(name), cortex_m4.ZOO[name])


@pytest.mark.parametrize("name", cortex_m4.REAL_MODELS)
def test_public_models_as_measured_on_a_cortex_m4(name: str, outside: Callable[[str], Path]) -> None:
    assert_measured(outside(f"{name}.tflite").read_bytes(), cortex_m4.REAL_MODELS[name])


@pytest.mark.parametrize("name", cortex_m4.FULL_BUILD)
def test_as_measured_in_the_largest_32_bit_build(name: str) -> None:
    arena = predict(_built(name), "ilp32-full")
    assert (arena.head, arena.total, arena.min) == cortex_m4.FULL_BUILD[name]


@pytest.mark.parametrize("name", cortex_m4.EARLY_2023)
def test_as_measured_with_the_kernels_of_early_2023(name: str) -> None:
    arena = predict(_built(name), "ilp32-full", library=EARLY_2023)
    assert (arena.total, arena.min) == cortex_m4.EARLY_2023[name]


@pytest.mark.parametrize("dtype", ["INT8", "FLOAT32"])
def test_an_emitted_constant_is_enough_for_an_lstm(dtype: str, wheel: Any) -> None:
    model = lstm(dtype, units=16, features=12, steps=10)
    result = tflm_memopt.optimize(model, abi="lp64", ops="builtin")
    _allocate(wheel, result.model, arena_bytes(read(result.model), result.report))


@pytest.fixture
def wheel() -> Any:
    return pytest.importorskip("tflite_micro", reason="needs the official TFLM wheel (x86-64 Linux)").runtime


@pytest.fixture
def measured(wheel: Any, capfd: pytest.CaptureFixture[str]) -> Measure:
    def measure(model: bytes) -> dict[str, int]:
        interpreter = _allocate(wheel, model, AMPLE)
        capfd.readouterr()
        interpreter.print_allocations()
        return {key: int(value) for key, value in FIGURE.findall(capfd.readouterr().err)}

    return measure


def _allocate(wheel: Any, model: bytes, size: int) -> Any:
    with contextlib.redirect_stdout(io.StringIO()):
        return wheel.Interpreter.from_bytes(model, arena_size=size)


def as_printed(arena: Arena) -> dict[str, int]:
    return {"head": arena.head, "tail": arena.tail, "total": arena.total}


@pytest.mark.parametrize("name", thinned(ZOO, 40))
def test_small_models_as_the_wheel_measures_them(name: str, wheel: Any, measured: Measure) -> None:
    model = ZOO[name]()
    arena = predict_recording(model)
    assert as_printed(arena) == measured(model)
    _allocate(wheel, model, arena.min)


def test_real_models_as_the_wheel_measures_them(real_model: Path, wheel: Any, measured: Measure) -> None:
    """Small models may also run in a smaller arena, in which TFLM overwrites its own temporary data."""
    model = real_model.read_bytes()
    arena = predict_recording(model)
    assert as_printed(arena) == measured(model)
    _allocate(wheel, model, arena.min)
    with pytest.raises(RuntimeError):
        _allocate(wheel, model, arena.min - 1)


def test_a_region_as_the_wheel_measures_it(wheel: Any, capfd: pytest.CaptureFixture[str]) -> None:
    run = importlib.import_module("tflm_memopt.runtime.wheel")
    interpreter = run.interpreter(region_model(), AMPLE)
    capfd.readouterr()
    interpreter.print_allocations()
    printed = {key: int(value) for key, value in FIGURE.findall(capfd.readouterr().err)}
    assert as_printed(predict_recording(region_model())) == printed


def test_what_an_unknown_operator_takes_is_no_figure() -> None:
    net = Net()
    x = net.input((1, 8))
    for _ in range(2):
        x = net.op("CUSTOM", [x], [net.tensor((1, 8))], custom_code="MY_OWN")
    arena = predict(net.model(net.unary("RELU", x)))
    assert arena.unknown == ("MY_OWN",)
    assert not arena.exact
    assert arena.figure(arena.total) == f"at least {arena.total:,}"
    said = arena.to_json()
    assert [said[key] for key in ("head", "tail", "total", "min")] == [None] * 4
    assert said["at_least"] == {"head": arena.head, "tail": arena.tail, "total": arena.total, "min": arena.min}


@pytest.mark.parametrize(
    ("name", "variables", "total"), [("mww_okay_nabu_v2", 6, 18_708), ("mww_vad_v2", 4, 9_332)], ids=["nabu", "vad"]
)
def test_resource_variables_as_measured_on_a_cortex_m4(
    name: str, variables: int, total: int, outside: Callable[[str], Path]
) -> None:
    """The measured program reserved space for 16 resource variables of 20 B each."""
    arena = predict(outside(f"{name}.tflite").read_bytes())
    assert arena.exact
    assert arena.variables == variables
    assert arena.total == total - (16 * 20 - -(-variables * 20 // 16) * 16)


@pytest.mark.parametrize("plan", [[1, 1, 3, -1, -1, -1], [1, 1, 2, -1], [1], []])
def test_an_offline_plan_for_another_model(plan: list[int]) -> None:
    net = Net()
    net.finished(net.unary("RELU", net.input((1, 8))))
    writer.set_metadata(net.tree, "OfflineMemoryAllocation", np.array(plan, "<i4"))
    with pytest.raises(ModelError, match="not for 2 tensors"):
        predict(writer.write(net.tree))
