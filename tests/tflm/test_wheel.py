"""Our operator inside the official TFLM wheel."""

from __future__ import annotations

import ctypes
from importlib import metadata
from typing import Any

import numpy as np
import pytest
from models import Net
from property.oracle import assert_same_bytes
from tflm.region_model import IN, WORKSPACE, expected, misaligned_model, program, region_model

import tflm_memopt
from tflm_memopt.errors import RuntimeUnavailable
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import interpreter, wheel
from tflm_memopt.runtime.native import native_library
from tflm_memopt.runtime.process import run_model
from tflm_memopt.runtime.regions import regions

ARENA = 4096
SEED = 7


@pytest.mark.parametrize("name", ["TMO_REGION", "TMO_CONV_2D", "TMO_FULLY_CONNECTED", "TMO_GROUP"])
def test_runs_a_program_whose_workspace_lies_over_the_input(name: str) -> None:
    tflm = interpreter(region_model(name=name), ARENA)
    random = np.random.default_rng(SEED)
    for run in range(5):
        x = random.integers(-128, 128, IN, dtype=np.int8)
        tflm.set_input(x, 0)
        assert tflm.invoke() == 0
        np.testing.assert_array_equal(tflm.get_output(0), expected(x), err_msg=f"seed {SEED}, run {run}")


def test_the_memory_plan_is_honoured_and_the_operator_keeps_no_state() -> None:
    x = np.zeros((1, *IN), np.int8)
    ours = run_model(region_model(), [x], 1, 1)
    assert ours.arena is not None, ours.failure
    assert ours.arena.head == WORKSPACE
    node, tensors, io, planner = 64, 4 * 24, 2 * (64 + 32), 512
    assert ours.arena.tail <= node + tensors + io + planner


def test_int16_goes_in_and_out() -> None:
    net = Net(activations="INT16")
    model = net.model(net.conv2d(net.conv2d(net.input((1, 8, 8, 2)), 8, kernel=(3, 3)), 2))
    done = tflm_memopt.optimize(model, seconds=0)
    assert done.report.changed
    assert tflm_memopt.verify(model, done.model, runs=1).bit_exact


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (region_model(program(magic=1)), "not a tflm-memopt program: convert the model again"),
        (region_model(program(version=3)), "another format version: install the library that belongs to the converter"),
        (region_model(program()[:-8]), "the program is truncated: copy the whole model"),
        (region_model(program()[:8]), "the program is truncated: copy the whole model"),
        (region_model(workspace=WORKSPACE - 1), "workspace do not have the sizes that the program needs"),
        (misaligned_model(), "not 16-byte aligned: declare the model array alignas(16)"),
    ],
    ids=["magic", "newer", "truncated", "cut in the header", "small workspace", "misaligned"],
)
def test_refuses_a_wrong_program_and_says_what_to_do(
    model: bytes, says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RuntimeError):
        interpreter(model, ARENA)
    assert says in capfd.readouterr().err


def test_refuses_a_workspace_off_its_boundary(capfd: pytest.CaptureFixture[str]) -> None:
    tflm = interpreter(region_model(offsets=(16, 64, 8)), ARENA)
    tflm.set_input(np.zeros(IN, np.int8), 0)
    with pytest.raises(RuntimeError):
        tflm.invoke()
    assert "TMO_REGION: the workspace is not 16-byte aligned; keep" in capfd.readouterr().err


class _Record(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("init", "free", "prepare", "invoke", "reset")),
        ("builtin_code", ctypes.c_int32),
        ("custom_name", ctypes.c_char_p),
    ]


class _Resolver(ctypes.Structure):
    _fields_ = [("vtable", ctypes.c_void_p), ("records", _Record * 200), ("count", ctypes.c_uint32)]


def _resolver(**changed: Any) -> _Resolver:
    """An object like the wheel's resolver, except for the `changed` attributes."""
    resolver = _Resolver(count=changed.get("count", 118))
    for record in resolver.records:
        record.builtin_code, record.invoke = changed.get("builtin_code", 101), changed.get("invoke", 1)
    return resolver


def _register(resolver: _Resolver) -> bool:
    wheel.require()
    function = ctypes.CDLL(str(native_library("tmo_wheel_shim"))).TmoRegisterOps
    function.restype = ctypes.c_bool
    return bool(function(ctypes.byref(resolver)))


def test_adds_four_records_behind_the_wheels_own() -> None:
    resolver = _resolver()
    assert _register(resolver)
    assert resolver.count == 122
    names = [resolver.records[i].custom_name for i in range(118, 122)]
    assert names == [b"TMO_REGION", b"TMO_CONV_2D", b"TMO_FULLY_CONNECTED", b"TMO_GROUP"]


@pytest.mark.parametrize("changed", [{"count": 117}, {"count": 197}, {"builtin_code": 100}, {"invoke": None}], ids=str)
def test_leaves_a_resolver_of_another_layout_alone(changed: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    resolver = _resolver(**changed)
    before = bytes(resolver)
    assert not _register(resolver)
    assert bytes(resolver) == before
    assert f"install tflite-micro=={wheel.VERSION}" in capfd.readouterr().err


def test_a_missing_or_other_wheel_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(RuntimeUnavailable, match=r"not installed\n  try: pip install --pre 'tflite-micro=="):
        wheel._runtime.__wrapped__()
    monkeypatch.setattr(metadata, "version", lambda _: "0.dev20300101")
    with pytest.raises(RuntimeUnavailable, match=r"another build of tflite-micro\n  at installed: 0.dev20300101"):
        wheel._runtime.__wrapped__()


def test_a_workspace_may_be_a_single_counter() -> None:
    """The operator has its input and its output whole."""
    net = Net(1)
    data = net.model(net.unary("LOGISTIC", net.input((1, 4, 4, 3)), out=(1 / 256, -128)))
    done = tflm_memopt.optimize(data, if_worthwhile=False)
    (region,) = regions(read(done.model))
    assert unpack(region.program).workspace == 2
    assert_same_bytes(data, done.model, seed=1)
