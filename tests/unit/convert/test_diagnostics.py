"""Test the messages for models that do not fit, and for rewrites that add more flash than they save in RAM."""

import re
from pathlib import Path
from typing import Any

import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net
from moving import concatenation
from unit.command import Run

import tflm_memopt
from tflm_memopt.cli import main as cli
from tflm_memopt.convert.policy import NO_BALANCE, NO_FLASH, NO_PARTS
from tflm_memopt.errors import DoesNotFit
from tflm_memopt.targets.boards import board

BLUEPILL = board("bluepill")


def camera() -> bytes:
    net = Net(7)
    q = net.unary("QUANTIZE", net.input((1, 70, 72, 3), None, dtype="FLOAT32"))
    q = net.conv2d(q, 8, kernel=(3, 3), stride=(2, 2))
    q = net.conv2d(q, 4, kernel=(3, 3), stride=(2, 2))
    return net.model(net.unary("DEQUANTIZE", q, dtype="FLOAT32", out=None))


def mostly_builtin() -> bytes:
    net = Net(4)
    x = net.input((1, 32, 32, 8))
    x = net.op("DIV", [x, x], [net.tensor((1, 32, 32, 8))], schema.DivOptionsT())
    return net.model(net.fully_connected(net.mean(x, (1, 2)), 4))


@pytest.mark.parametrize("limits", [{"board": "mkr_wifi_1010"}, {"target": "cortex-m4", "ram_limit": 30_000}])
def test_a_limit_too_small_for_a_float_interface_names_int8_io(limits: dict[str, Any]) -> None:
    """With the flags that a hint suggests, the arena has the size that the hint states."""
    with pytest.raises(DoesNotFit) as no:
        tflm_memopt.optimize(camera(), **limits)
    assert no.value.code == "does_not_fit"
    ways = dict(re.findall(r"(--[\w -]+?) \(fits in ([\d,]+) B", no.value.hint))
    assert set(ways) >= {"--int8-io", "--int8-io --input stream"}
    for flags, total in ways.items():
        done = tflm_memopt.optimize(
            camera(), **limits, int8_io="int8" in flags, input="stream" if "stream" in flags else "arena"
        )
        assert f"{done.report.arena.total:,}" == total
        assert not done.report.board or done.report.board.fits
    other = "--board " if "board" in limits else "--ram-limit "
    assert [flag for flag in ("--board ", "--ram-limit ") if flag in no.value.hint] == [other]


def test_other_boards_do_not_help_against_a_limit_that_the_board_itself_can_keep() -> None:
    with pytest.raises(DoesNotFit) as no:
        tflm_memopt.optimize(camera(), board="nano33ble", ram_limit=30_000)
    assert "--int8-io (fits in " in no.value.hint
    assert "--board" not in no.value.hint


def test_no_hint_streams_the_input_of_two_cores() -> None:
    with pytest.raises(DoesNotFit) as no:
        tflm_memopt.optimize(camera(), cores=2, ram_limit=30_000, effort=0.05)
    assert "--int8-io (fits" in no.value.hint
    assert "stream" not in no.value.hint


@pytest.mark.parametrize("more", [{}, {"max_instructions": "2M"}, {"time_limit": "100ms"}], ids=str)
def test_a_small_limit_on_a_large_board_names_a_limit_that_holds(more: dict[str, Any]) -> None:
    with pytest.raises(DoesNotFit) as no:
        tflm_memopt.optimize(camera(), board="nano33ble", ram_limit=3000, **more)
    (least,) = re.findall(r"--ram-limit (\d+)", no.value.hint)
    done = tflm_memopt.optimize(camera(), board="nano33ble", ram_limit=int(least), **more)
    assert done.report.arena.total == int(least)


def test_a_limit_of_instructions_names_a_limit_of_ram_as_well() -> None:
    with pytest.raises(DoesNotFit) as no:
        tflm_memopt.optimize(camera(), ram_limit=3000, max_instructions=10)
    (both,) = re.findall(r"--max-instructions (\d+) --ram-limit (\d+)", no.value.hint)
    done = tflm_memopt.optimize(camera(), max_instructions=int(both[0]), ram_limit=int(both[1]))
    assert done.report.arena.total <= int(both[1])


def test_scratch_is_named_in_what_does_not_fit() -> None:
    net = Net(13)
    y = net.depthwise_conv2d(net.input((1, 1, 300, 4)), kernel=(1, 9), stride=(1, 2), out=(0.2, 0))
    with pytest.raises(DoesNotFit, match=r"scratch of the kernels 480 B"):
        tflm_memopt.optimize(net.model(y), target="esp-nn", ram_limit=1000, effort=0.05)


def test_a_ram_limit_names_the_largest_buffers_of_the_fullest_step() -> None:
    net = Net(5)
    y = net.conv2d(net.input((1, 16, 16, 4)), 4, kernel=(3, 3))
    small = net.fully_connected(net.mean(y, (1, 2)), 8)
    z = net.conv2d(y, 32, stride=(2, 2))
    with pytest.raises(DoesNotFit) as no:
        tflm_memopt.optimize(
            net.model(small, concatenation(net, [z, net.conv2d(z, 32)], 3)), ram_limit=1000, effort=0.05
        )
    assert re.search(r"\(ops 2\.\.5\): output of op 5 CONCATENATION 4,096 B, ", no.value.where)


def test_a_model_whose_rewrite_has_too_much_flash_stays_whole() -> None:
    net = Net(1)
    x = net.input((1, 16, 16, 4))
    y = net.op("DIV", [x, x], [net.tensor((1, 16, 16, 4))], schema.DivOptionsT())
    for _ in range(4):
        y = net.unary("RELU", y)
    plain = tflm_memopt.inspect(net.model(y))
    net.tree.description = "x" * (BLUEPILL.flash_limit - plain.firmware.on("cortex-m3").total - 200)
    assert tflm_memopt.optimize(net.model(y)).report.changed
    done = tflm_memopt.optimize(net.model(y), board="bluepill")
    assert not done.report.changed
    assert done.report.why_unchanged == NO_FLASH
    assert done.report.board
    assert 0 <= done.report.board.flash_left < 1000
    flash = tflm_memopt.optimize(net.model(y)).report.footprint
    assert flash
    limited = tflm_memopt.optimize(net.model(y), flash_limit=flash.original.total)
    assert (limited.model, limited.report.why_unchanged) == (net.model(y), NO_FLASH)


def test_a_rewrite_that_saves_less_than_it_costs_is_not_made(folder: Path, run: Run) -> None:
    (folder / "builtin.tflite").write_bytes(mostly_builtin())
    left = run("optimize", "builtin.tflite", "-o", "a", "--json").json
    assert (left["changed"], left["why_unchanged"]) == (False, NO_BALANCE)
    assert (folder / "a/builtin.tflite").read_bytes() == mostly_builtin()
    balance = left["balance"]
    assert not balance["worthwhile"]
    assert 0 < balance["ram_saved"] < balance["flash_added"] == balance["model"] + balance["library"]
    assert balance["tflm"] > 0
    said = run("optimize", "builtin.tflite", "-o", "a").out
    (line,) = (line for line in said.splitlines() if line.startswith("  balance"))
    assert f"-{balance['ram_saved']:,} B of RAM, {balance['flash_added']:+,} B of flash" in line


def test_a_saved_plan_is_used_even_if_it_saves_no_ram() -> None:
    net = Net(1)
    data = net.model(net.conv2d(net.input((1, 16, 16, 4)), 4))
    assert tflm_memopt.optimize(data, ops="builtin").report.why_unchanged == NO_PARTS
    (point,) = tflm_memopt.explore(data, ops="builtin").points
    assert point.plan is not None
    done = tflm_memopt.optimize(data, ops="builtin", plan=point.plan.to_json()).report
    assert done.changed
    assert done.arena.total == done.original_arena.total


def heavy() -> bytes:
    net = Net(3)
    return net.model(net.fully_connected(net.fully_connected(net.input((1, 1000)), 100), 4))


def test_a_flash_limit_on_a_large_board_names_no_other_board() -> None:
    with pytest.raises(DoesNotFit) as no:
        tflm_memopt.optimize(heavy(), board="nano33ble", flash_limit="60K")
    assert "--board" not in no.value.hint
    (least,) = re.findall(r"--flash-limit (\d+)", no.value.hint)
    done = tflm_memopt.optimize(heavy(), board="nano33ble", flash_limit=int(least))
    assert done.report.footprint
    assert done.report.footprint.rewritten.total == int(least)


def test_the_flash_of_a_board_is_a_limit(folder: Path, run: Run) -> None:
    (folder / "heavy.tflite").write_bytes(heavy())
    answer = run("optimize", "heavy.tflite", "-o", "out", "--board", "bluepill", "--emit", "platformio")
    assert (answer.code, answer.out) == (cli.NO, "")
    assert not (folder / "out").exists()
    assert "B of flash, bluepill has 49,152 B beside its core" in answer.err
    assert re.search(r"at model [\d,]+ B, library [\d,]+ B, TFLM [\d,]+ B, the last two estimated", answer.err)
    assert "code flash_too_small" in answer.err
    names = re.search(r"--board ([\w, ]+)", answer.err)
    assert names
    assert "bluepill" not in names[1]
    there = run("optimize", "heavy.tflite", "-o", "out", "--json", "--board", names[1].split(", ")[0]).json["board"]
    assert there["fits"]
    assert there["flash"]["model"] > 100_000


@pytest.mark.parametrize(
    "flags",
    [
        ("--force",), ("--ram-limit", "30kB"), ("--board", "nano33ble"), ("--op-per", "group"),
    ],
)  # fmt: skip
def test_unless_it_is_wanted(folder: Path, run: Run, flags: tuple[str, ...]) -> None:
    (folder / "builtin.tflite").write_bytes(mostly_builtin())
    report = run("optimize", "builtin.tflite", "-o", "a", "--json", *flags).json
    assert report["changed"]
    assert not report["balance"]["worthwhile"]


def test_packed_kernels_that_need_more_ram_than_tflm_give_way_to_generic_ones() -> None:
    net = Net(1)
    x = net.input((1, 561))
    for units in (64, 32, 6):
        x = net.fully_connected(x, units, per_channel=True)
    data = net.model(net.softmax(x))
    report = tflm_memopt.optimize(data, seconds=0, target="cortex-m4", cores=2).report
    assert report.changed and report.target == "generic"
    assert report.arena.total < 0.7 * report.original_arena.total
