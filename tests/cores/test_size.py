"""benchmarks/size.py: what the C library takes, all of it and with the kernels of one model."""

from __future__ import annotations

import importlib
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import streaming
from conftest import EXAMPLE, OWN_MODELS, ROOT
from cores.core import CORES, Core, missing_tools
from models import Net

import tflm_memopt
from tflm_memopt.emit.kernels import Needs, Part, needs
from tflm_memopt.lower.rewrite import programs
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind

pytestmark = pytest.mark.slow


def test_sizes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if reason := missing_tools(CORES["m3"]):
        pytest.skip(reason)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    size = importlib.import_module("size")
    (tmp_path / EXAMPLE.name).write_bytes(EXAMPLE.read_bytes())
    page = tmp_path / "page.md"
    page.write_text("<!-- size:begin -->\n<!-- size:end -->")
    assert size.main(["--cores", "m3", "m4", "--models", str(tmp_path), "--json", "--update", str(page)]) == 0
    everything, packed, model, _ = json.loads(capsys.readouterr().out)["sizes"]
    assert everything["text"] <= 25_850
    assert packed["text"] <= 33_250
    assert model["text"] < 0.8 * everything["text"]
    assert 0 < model["stack"] <= 1024
    assert page.read_text().count("| m3 |") == 2


@pytest.mark.parametrize("path", [p for p in OWN_MODELS if p != EXAMPLE], ids=lambda p: p.stem)
def test_of_one_model(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a model's kernels, the executor and the proof take on the core that has most of them."""
    core = CORES["m55"]
    if reason := missing_tools(core):
        pytest.skip(reason)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    size = importlib.import_module("size")
    model = tflm_memopt.optimize(path.read_bytes(), int8_io=True, target=core.target).model
    text, _ = image(core, needs(programs(read(model).graph)), tmp_path, size)
    assert text <= 12_000


def window() -> bytes:
    """Layers over a window, and a mean."""
    net = Net(1)
    x = net.conv2d(net.input((1, 20, 1, 8)), 8, kernel=(3, 1), padding="VALID")
    return net.model(net.fully_connected(net.mean(x, (1, 2), keep=False), 4))


def wanted(data: bytes, where: str = "arena") -> Needs:
    """What the programs of a model need of the library."""
    return needs(programs(read(tflm_memopt.optimize(data, input=where, seconds=0.05).model).graph))


def image(core: Core, parts: Needs, folder: Path, size: Any) -> tuple[int, set[str]]:
    """Bytes of code of a program that proves and runs such programs, and its functions that know of states."""
    text = int(size.linked("", core, "-Os", parts).text)
    made = size.image(core, "-Os", parts, folder)
    said = subprocess.run([f"{core.prefix}nm", made], capture_output=True, text=True, check=True)
    return text, STATE & {line.split()[-1].split(".")[0] for line in said.stdout.splitlines()}


STATE = {"turn_rings", "check_rings", "is_made_anew", "tmo_sliding_sum_row_s8", "tmo_lstm_row_s8"}


def without_state(parts: Needs) -> Needs:
    """The same, but for all that outlives an inference; instead of sums that run along, a MEAN."""
    along = parts.kinds >> Kind.SLIDING_SUM & 1
    kinds = parts.kinds & ~(1 << Kind.LSTM | 1 << Kind.SLIDING_SUM) | along << Kind.MEAN
    return replace(parts, parts=parts.parts & ~(1 << Part.STATE), kinds=kinds)


@pytest.mark.parametrize(
    ("data", "where", "most"), [(streaming.mixed, "arena", 660), (window, "sliding:1", 690), (None, "", 1_500)]
)
def test_what_outlives_an_inference(
    data: Any, where: str, most: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """How much larger the library is on Cortex-M4 for rings, for sums that run along instead of a MEAN, and for all
    of it, the LSTM too, where the library has every kernel; without them, nothing of any is linked.
    """
    if reason := missing_tools(CORES["m4"]):
        pytest.skip(reason)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    size = importlib.import_module("size")
    # A part that is left out in both: a build that has all of them asks no program what it needs.
    every = Needs(2**64 - 1 & ~(1 << Kind.OWN), 2**64 - 1, 2**32 - 1 & ~(1 << Part.TURNED))
    parts = wanted(data(), where) if data else every
    assert parts.parts >> Part.STATE & 1
    (more, has), (less, lacks) = (image(CORES["m4"], each, tmp_path, size) for each in (parts, without_state(parts)))
    print(more - less)
    assert 0 < more - less <= most
    assert {"turn_rings", "check_rings"} <= has and not lacks
