import json
import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import EXAMPLE
from models import Net
from unit.command import small

import tflm_memopt
from tflm_memopt.answers.devices import OptimizedDevices
from tflm_memopt.check.checker import check
from tflm_memopt.check.together import HEAD_BYTES
from tflm_memopt.cli.devices import device_files
from tflm_memopt.cli.main import main
from tflm_memopt.convert.request import request
from tflm_memopt.devices.network import Network
from tflm_memopt.errors import DoesNotFit, MemoptError, PlanError, UsageError
from tflm_memopt.model import writer
from tflm_memopt.model.names import OFFLINE_PLAN
from tflm_memopt.plan.plan import Group, Role

SHAPES = EXAMPLE


@pytest.mark.slow
def test_the_command_writes_a_folder_for_each_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original = tmp_path / "small.tflite"
    original.write_bytes(small())
    flags = ["--devices", "2", "--effort", "low", "-o", str(tmp_path)]
    assert main(["optimize", str(original), *flags, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == json.loads((tmp_path / f"{original.stem}.report.json").read_text())
    for number, device in enumerate(said["devices"]):
        model = tmp_path / f"device{number}/{original.name}"
        assert (tmp_path / device["file"]) == model
        assert device["flash"] == model.stat().st_size
        assert {"arena", "weights", "sent", "received"} <= device.keys()
    assert said["devices"][0]["sent"] == said["devices"][1]["received"] > 0
    assert main(["verify", str(original), str(tmp_path), "--runs", "2", "--json"]) == 0
    verified = json.loads(capsys.readouterr().out)
    assert verified["bit_exact"]
    assert [d["sent"] for d in verified["devices"]] == [verified["runs"] * d["sent"] for d in said["devices"]]
    assert main(["verify", str(original), str(tmp_path)]) == 0
    assert "no difference in " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "run"),
    [
        ("bad_option", lambda: tflm_memopt.optimize_devices(SHAPES, 1)),
        ("bad_option", lambda: tflm_memopt.optimize_devices(SHAPES, 17)),
        ("bad_option", lambda: tflm_memopt.optimize_devices(SHAPES, 2, input="stream")),
        ("bad_option", lambda: tflm_memopt.optimize_devices(SHAPES, 2, board="nano33ble", time_limit=50)),
        ("bad_option", lambda: tflm_memopt.optimize_devices(SHAPES, 2, ops="group")),
        ("bad_option", lambda: tflm_memopt.optimize_devices(SHAPES, 2, cores=2)),
        ("bad_option", lambda: tflm_memopt.optimize_devices(SHAPES, 2, ram_limit=9000)),
        ("bad_option", lambda: tflm_memopt.optimize_devices(SHAPES, 2, plan={})),
        ("cannot_share", lambda: tflm_memopt.optimize_devices(dense(), 2, cut=[3])),
        ("cannot_share", lambda: tflm_memopt.optimize_devices(dense(), 2, cut=[0])),
        ("cannot_share", lambda: tflm_memopt.optimize_devices(dense(), 3, cut=[2, 1])),
        ("cannot_share", lambda: tflm_memopt.optimize_devices(dense(), 3, cut=[1])),
        ("cannot_share", lambda: tflm_memopt.optimize_devices(dense(4), 6)),
        ("cannot_share", lambda: tflm_memopt.optimize_devices(without_elements(), 2)),
        ("cannot_share", lambda: tflm_memopt.optimize_devices(padded(), 3, cut=[1, 2])),
        ("unsupported_operator", lambda: tflm_memopt.optimize_devices(without_stride(), 2)),
        ("unsupported_operator", lambda: tflm_memopt.optimize_devices(without_options(), 2)),
        ("unsupported_operator", lambda: tflm_memopt.optimize_devices(with_a_shortcut(options=False), 2)),
        ("unsupported_operator", lambda: tflm_memopt.optimize_devices(with_a_shortcut(stride=1 << 30), 2)),
        ("cannot_share", lambda: tflm_memopt.optimize_devices(with_many_outputs(), 2)),
        ("bad_option", lambda: tflm_memopt.optimize_devices(dense(), 2, cut=[1], memory="9kB")),
        ("bad_option", lambda: tflm_memopt.optimize_devices(SHAPES, 2, link="fast")),
        ("bad_option", lambda: tflm_memopt.optimize_devices(SHAPES, 2, link="1kB,-2,3")),
        ("bad_option", lambda: tflm_memopt.optimize_devices(SHAPES, 2, memory="1kB,2kB,3kB")),
        ("time_unknown", lambda: tflm_memopt.optimize_devices(dense(), 2, link="1kB")),
        ("time_unknown", lambda: tflm_memopt.optimize_devices(dense(), 2, link="1kB", core="rv32", clock=100)),
    ],
)
def test_what_several_devices_cannot_have_is_refused(code: str, run: Callable[[], Any]) -> None:
    with pytest.raises(MemoptError) as caught:
        run()
    assert caught.value.code == code
    assert caught.value.hint


def dense(width: int = 32) -> bytes:
    net = Net()
    x = net.input((1, width))
    for _ in range(3):
        x = net.fully_connected(x, width)
    return net.model(x)


def padded() -> bytes:
    """Make a network whose second operator writes a row of padding before it reads a row."""
    net = Net()
    x = net.pad(net.conv2d(net.input((1, 8, 8, 2)), 4), ((0, 0), (1, 1), (1, 1), (0, 0)))
    return net.model(net.conv2d(x, 4, kernel=(3, 3), padding="VALID"))


def without_elements() -> bytes:
    net = Net()
    return net.model(net.conv2d(net.unary("RELU", net.input((0, 8, 8, 3))), 4))


def without_stride() -> bytes:
    net = Net()
    y = net.conv2d(net.input((1, 8, 8, 3)), 4)
    net.graph.operators[0].builtinOptions.strideH = 0
    return net.model(y)


def without_options() -> bytes:
    net = Net()
    y = net.conv2d(net.conv2d(net.input((1, 8, 8, 3)), 4), 4)
    net.graph.operators[0].builtinOptions, net.graph.operators[0].builtinOptionsType = None, 0
    return net.model(y)


def with_a_shortcut(*, options: bool = True, stride: int = 1) -> bytes:
    net = Net()
    x = net.conv2d(net.input((1, 16, 12, 3)), 8, kernel=(3, 3))
    y = net.depthwise_conv2d(net.add(x, net.conv2d(x, 8, kernel=(3, 3))), stride=(2, 2))
    y = net.fully_connected(net.mean(y, (1, 2)), 5)
    net.graph.operators[0].builtinOptions.strideH = stride
    for op in () if options else net.graph.operators:
        op.builtinOptions, op.builtinOptionsType = None, 0
    return net.model(y)


def with_many_outputs() -> bytes:
    net = Net()
    x = net.conv2d(net.input((1, 12, 12, 3)), 8, kernel=(3, 3))
    return net.model(*[net.conv2d(x, 2) for _ in range(20)])


def test_an_output_may_be_a_constant(tmp_path: Path) -> None:
    net = Net()
    y = net.conv2d(net.input((1, 12, 12, 3)), 8, kernel=(3, 3))
    data = net.model(net.conv2d(y, 4), net.tensor((1, 4), data=[[1, 2, 3, 4]]))
    paths = [tmp_path / "0.tflite", tmp_path / "1.tflite"]
    for path, one in zip(paths, tflm_memopt.optimize_devices(data, 2, effort=0.05).models, strict=True):
        path.write_bytes(one.model)
    assert tflm_memopt.verify_devices(data, paths, runs=1).bit_exact


def test_a_memory_plan_of_the_original_is_not_a_plan_of_a_device() -> None:
    net = Net()
    x = net.conv2d(net.conv2d(net.input((1, 8, 8, 4)), 8, kernel=(3, 3)), 8, kernel=(3, 3))
    tree = net.finished(x)
    tensors = len(net.graph.tensors)
    writer.set_metadata(tree, OFFLINE_PLAN, np.array([1, 1, tensors, *[-1] * tensors], "<i4"))
    made = tflm_memopt.optimize_devices(writer.write(tree), 2, effort=0.05)
    assert len(made.models) == 2


def test_a_layer_of_two_channels_is_shared(tmp_path: Path) -> None:
    """The second device gets both input channels of the dense layer, because the first device has a smaller part of
    the work.
    """
    net = Net(1)
    data = net.model(net.fully_connected(net.mean(net.input((4, 12, 12, 2)), (1, 2), keep=False), 3, batches=4))
    paths = [tmp_path / "0.tflite", tmp_path / "1.tflite"]
    for path, one in zip(paths, tflm_memopt.optimize_devices(data, 2, effort=0.05).models, strict=True):
        path.write_bytes(one.model)
    assert tflm_memopt.verify_devices(data, paths, runs=1).bit_exact


def test_a_device_gets_its_model_even_if_that_saves_no_ram() -> None:
    net = Net(1)
    x = net.conv2d(net.input((1, 1, 2000, 2)), 8, kernel=(1, 9))
    shared = tflm_memopt.optimize_devices(net.model(net.conv2d(x, 2, kernel=(1, 5))), 2, effort=0.05)
    assert all(one.report.changed for one in shared.models)


def test_a_cut_gives_each_device_its_operators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "dense.tflite"
    model.write_bytes(dense(32))
    assert main(["optimize", str(model), "--devices", "2", "--cut", "2", "-o", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["whole"], said["channels"]) == ([0, 1, 2], [])
    assert said["stages"] == [{"device": 0, "first": 0}, {"device": 1, "first": 2}]
    assert [d["weights"] for d in said["devices"]] == [2 * 32 * 36, 32 * 36]
    assert [d["sent"] for d in said["devices"]] == [24 + 32, 24 + 32]
    assert main(["optimize", str(model), "--devices", "2", "--cut", "2", "-o", str(tmp_path)]) == 0
    assert "device 1: operators from 2" in capsys.readouterr().out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("devices")
    (found / "dense.tflite").write_bytes(dense())
    assert main(["optimize", str(found / "dense.tflite"), "--devices", "2", "-o", str(found), "--quiet"]) == 0
    return found


def other(folder: Path) -> None:
    made = tflm_memopt.optimize_devices(dense(), 3)
    (folder / "device2").mkdir()
    (folder / "device2/dense.tflite").write_bytes(made.models[2].model)


def two_others(folder: Path) -> None:
    (folder / "device1/dense.tflite").rename(folder / "device1/a.tflite")
    shutil.copy(folder / "device1/a.tflite", folder / "device1/b.tflite")


SWAPPED = (("device0", "x"), ("device1", "device0"), ("x", "device1"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "change", "said"),
    [
        ("bad_option", lambda f: shutil.rmtree(f / "device0"), "has no device0"),
        ("other_model", lambda f: shutil.rmtree(f / "device1"), "device 1 is missing"),
        ("other_model", lambda f: shutil.copytree(f / "device0", f / "device1", dirs_exist_ok=True), "of device 1"),
        ("other_model", lambda f: [(f / a).rename(f / b) for a, b in SWAPPED], "of device 0"),
        ("other_model", other, "devices 0 and 2 come from two conversions"),
        ("other_model", two_others, "has 2 models"),
    ],
)
def test_folders_that_are_not_of_one_conversion_are_refused(
    code: str, change: Callable[[Path], Any], said: str, folder: Path, tmp_path: Path
) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(folder, changed)
    change(changed)
    with pytest.raises(UsageError, match=said) as caught:
        tflm_memopt.verify_devices(folder / "dense.tflite", device_files(changed, "dense.tflite"))
    assert caught.value.code == code
    assert main(["verify", str(folder / "dense.tflite"), str(changed)]) == 2


def test_what_is_sent_runs_row_by_row_and_forwards() -> None:
    net = Net()
    shared = tflm_memopt.optimize_devices(net.model(net.conv2d(net.input((1, 6, 6, 2)), 4)), 2)
    one = shared.models[1]
    planned = request({}).conversion(one.original).of(one.plan).planned
    steps = tuple(replace(step, is_reversed=True) if isinstance(step, Group) else step for step in planned.plan.steps)
    with pytest.raises(PlanError, match="exchanges rows with another device"):
        check(replace(planned.plan, steps=steps), planned.graph)


@pytest.fixture(scope="module")
def tiled() -> tflm_memopt.Optimized:
    net = Net(4)
    x = net.conv2d(net.input((1, 12, 24, 3)), 8, kernel=(3, 3))
    for channels in (24, 24, 24, 4):
        x = net.conv2d(x, channels, kernel=(3, 3))
    return tflm_memopt.optimize_devices(net.model(x), 3, cut=[1, 4], effort=0.3).models[1]


@pytest.mark.parametrize("at", [0, -1])
def test_the_checker_wants_whole_rows_of_messages(tiled: tflm_memopt.Optimized, at: int) -> None:
    planned = request({}).conversion(tiled.original).of(tiled.plan).planned
    plan, graph = planned.plan, planned.graph
    (group,) = plan.steps
    assert isinstance(group, Group)
    op = graph.ops[group.stages[at].op]
    stages = list(group.stages)
    stages[at] = replace(stages[at], nest=replace(stages[at].nest, tile=8))
    with pytest.raises(PlanError, match="exchanges parts of rows"):
        check(replace(plan, steps=(replace(group, stages=tuple(stages)),)), graph)
    tensor = op.output if op.receives else op.inputs[0]
    k = next(k for k, b in enumerate(plan.buffers) if (b.role, b.key) == (Role.ROLLING_BUFFER, tensor))
    buffer = plan.buffers[k]
    (window,) = buffer.column_windows
    more = replace(
        buffer, nbytes=buffer.nbytes + op.reads[0].c, column_windows=(replace(window, depth=window.depth + 1),)
    )
    with pytest.raises(PlanError, match="not consecutive"):
        check(replace(plan, buffers=(*plan.buffers[:k], more, *plan.buffers[k + 1 :])), graph)


def test_operators_that_stay_builtin_between_two_that_cross_are_refused() -> None:
    net = Net()
    x = net.conv2d(net.input((1, 4, 4, 2)), 4)
    y = net.tensor((1, 4, 4, 4))
    net.op("DIV", [x, x], [y], schema.DivOptionsT())
    with pytest.raises(MemoptError, match="stay builtin") as caught:
        tflm_memopt.optimize_devices(net.model(net.conv2d(y, 4)), 2, cut=[1])
    assert (caught.value.code, str(caught.value.where)[:14]) == ("unsupported_operator", "operator 1 DIV")


def test_a_builtin_operator_is_named_by_its_index_in_the_network() -> None:
    net = Net()
    x = net.conv2d(net.conv2d(net.input((1, 4, 4, 2)), 4), 4)
    y = net.tensor((1, 4, 4, 4))
    net.op("DIV", [x, x], [y], schema.DivOptionsT())
    with pytest.raises(MemoptError, match="stay builtin") as caught:
        tflm_memopt.optimize_devices(net.model(y), 2, cut=[1])
    assert str(caught.value.where).startswith("operator 2 DIV")


def long_rows() -> bytes:
    net = Net()
    x = net.conv2d(net.input((1, 32, 32, 2)), 65, kernel=(3, 3))
    return net.model(net.fully_connected(net.reshape(x, (1, 32 * 32 * 65)), 2))


@pytest.mark.slow
def test_rows_that_are_too_long_to_be_sent_are_not_sent() -> None:
    made = tflm_memopt.optimize_devices(long_rows(), 2, effort=0.05)
    assert all(said.sent < 32 * 32 * 65 + 33 * HEAD_BYTES for said in made.report.devices)
    with pytest.raises(UsageError, match="rows of 66,560 B are too long to be sent") as caught:
        tflm_memopt.optimize_devices(long_rows(), 2, cut=[2], effort=0.05)
    assert caught.value.code == "cannot_share"


def test_even_parts_remain_if_other_portions_are_impossible(monkeypatch: pytest.MonkeyPatch) -> None:
    tried, before = [], Network.converted

    def converted(self: Network, *args: Any, **at: Any) -> OptimizedDevices:
        if len(args) > 2:
            tried.append(args[2])
            raise UsageError("a group of channels cannot be divided", code="unsupported_operator")
        return before(self, *args, **at)

    monkeypatch.setattr(Network, "converted", converted)
    net = Net()
    x = net.conv2d(net.input((1, 12, 12, 8)), 32, kernel=(3, 3))
    tflm_memopt.optimize_devices(net.model(net.conv2d(x, 32, kernel=(3, 3))), 2, effort=0.05)
    assert tried


@pytest.mark.parametrize(
    ("error", "left_out"),
    [
        (UsageError("a tensor cannot be sent", code="cannot_share"), True),
        (DoesNotFit("a device is too slow", code="too_slow"), True),
        (UsageError("an option is invalid"), False),
        (PlanError("the checker rejected a plan"), False),
    ],
)
def test_only_impossible_splits_are_left_out(
    error: MemoptError, left_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Network.converted

    def converted(self: Network, *args: Any, **at: Any) -> OptimizedDevices:
        if at:
            raise error
        return before(self, *args)

    monkeypatch.setattr(Network, "converted", converted)
    with nullcontext() if left_out else pytest.raises(type(error), match=error.what):
        assert not tflm_memopt.optimize_devices(dense(), 2, effort=0.05).report.stages
