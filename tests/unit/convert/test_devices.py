"""optimize_devices(), and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLE, ROOT
from memories import svdf_network
from models import Net

import tflm_memopt
from tflm_memopt.check.checker import check
from tflm_memopt.cli.main import main
from tflm_memopt.convert.request import request
from tflm_memopt.errors import MemoptError, PlanError
from tflm_memopt.options import DEFAULTS
from tflm_memopt.plan.plan import Block

SHAPES = EXAMPLE


@pytest.mark.slow
def test_the_command_writes_a_folder_for_each_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", str(SHAPES), "--devices", "2", "-o", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == json.loads((tmp_path / f"{SHAPES.stem}.report.json").read_text())
    for number, device in enumerate(said["devices"]):
        model = tmp_path / f"device{number}/{SHAPES.name}"
        assert (tmp_path / device["file"]) == model
        assert device["flash"] == model.stat().st_size
        assert {"arena", "weights", "sent", "received"} <= device.keys()
    assert said["devices"][0]["sent"] == said["devices"][1]["received"] > 0
    assert main(["verify", str(SHAPES), str(tmp_path), "--runs", "2", "--json"]) == 0
    verified = json.loads(capsys.readouterr().out)
    assert verified["bit_exact"]
    assert [d["sent"] for d in verified["devices"]] == [verified["runs"] * d["sent"] for d in said["devices"]]
    assert main(["verify", str(SHAPES), str(tmp_path), "--runs", "0"]) == 0
    assert "bit-exact" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "run"),
    [
        ("devices_count", lambda: tflm_memopt.optimize_devices(SHAPES, 1)),
        ("devices_count", lambda: tflm_memopt.optimize_devices(SHAPES, 17)),
        ("devices_option", lambda: tflm_memopt.optimize_devices(SHAPES, 2, input="stream")),
        ("devices_option", lambda: tflm_memopt.optimize_devices(SHAPES, 2, ops="block")),
        ("devices_limit", lambda: tflm_memopt.optimize_devices(SHAPES, 2, cores=2)),
        ("devices_limit", lambda: tflm_memopt.optimize_devices(SHAPES, 2, ram_limit=9000)),
        ("devices_plan", lambda: tflm_memopt.optimize_devices(SHAPES, 2, plan={})),
    ],
)
def test_what_several_devices_cannot_have_is_refused(code: str, run: Callable[[], Any]) -> None:
    with pytest.raises(MemoptError) as caught:
        run()
    assert caught.value.code == code
    assert caught.value.hint


@pytest.mark.parametrize(
    ("code", "flags"),
    [
        ("devices_flag", ["optimize", str(SHAPES), "--devices", "2", "--frontier"]),
        ("devices_one", ["optimize", str(ROOT / "tests"), "--devices", "2"]),
        ("devices_emit", ["optimize", str(SHAPES), "--devices", "2", "--emit", "c"]),
        ("devices_verify", ["verify", str(SHAPES), ".", "--steps", "2"]),
        ("no_devices", ["verify", str(SHAPES), str(ROOT / "tests")]),
    ],
)
def test_flags_that_are_for_one_device_are_refused(
    code: str, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(flags) == 2
    assert code  # which errors tests raise is counted by their codes
    assert "device" in capsys.readouterr().err


def test_a_model_without_anything_to_share_is_refused() -> None:
    net = Net()
    model = net.model(net.softmax(net.input((1, 8))))
    with pytest.raises(MemoptError, match="no operator of the model can be shared") as caught:
        tflm_memopt.optimize_devices(model, 2)
    assert caught.value.code == "devices_nothing"


def test_models_with_variables_are_refused() -> None:
    with pytest.raises(MemoptError, match="runs on one device") as caught:
        tflm_memopt.optimize_devices(svdf_network(), 2)
    assert caught.value.code == "devices_state"


def test_operators_that_stay_builtin_are_refused() -> None:
    """TFLM would run them again after each wait."""
    net = Net()
    x = net.conv2d(net.input((1, 4, 4, 2)), 4)
    y = net.tensor((1, 4, 4, 4))
    net.op("NEG", [x], [y])
    with pytest.raises(MemoptError, match="stay builtin") as caught:
        tflm_memopt.optimize_devices(net.model(y), 2)
    assert caught.value.code == "devices_builtin"
    assert "NEG" in str(caught.value.where)


def test_what_crosses_runs_row_by_row_and_forwards() -> None:
    net = Net()
    shared = tflm_memopt.optimize_devices(net.model(net.conv2d(net.input((1, 6, 6, 2)), 4)), 2)
    one = shared.models[1]
    planned = request(DEFAULTS).conversion(one.original).of(one.plan).planned
    steps = tuple(replace(step, turned=True) if isinstance(step, Block) else step for step in planned.plan.steps)
    with pytest.raises(PlanError, match="exchanges rows") as caught:
        check(replace(planned.plan, steps=steps), planned.understood.graph, planned.partition)
    assert caught.value.code == "plan_crossing_block"
