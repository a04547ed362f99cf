"""The benchmarks against the papers: their figures hold, their models run, their tables get where they belong."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from cores.core import CORES, missing_tools
from e2e.test_msf_cnn import LAYERS, layer

import tflm_memopt
from tflm_memopt.options import DEFAULTS
from tflm_memopt.runtime.process import run_model

sys.path.insert(0, str(ROOT / "benchmarks"))
import costs
import fit_networks
import int8_models
import published
import seconds
import speed
import tables
from papers.fused_tiling import examples, tiled_paths
from papers.msf_cnn import executed
from papers.msf_cnn.nets import read as read_nets
from papers.vmcu import vmcu

MARK = re.compile(r"<!-- ([\w-]+):begin")
RESIDUAL = [
    *LAYERS,
    layer("pw", 8, 8, 24),
    layer("dw", 8, 24, 24, k=5, s=2),
    layer("pw", 4, 24, 8),
    layer("pw", 4, 8, 24),
    layer("dw", 4, 24, 24, k=7),
    layer("pw", 4, 24, 8),
    layer("add", 4, 8, 8) | {"skip": 7},
    layer("gap", 4, 8, 8) | {"ho": 1, "wo": 1},
    layer("fc", 1, 8, 10),
]


CONVERTED: dict[tuple[bytes, str], tflm_memopt.Optimized] = {}
"""What tables and tests made of models, by these and the options: they have many in common."""
_OPTIMIZE = tflm_memopt.optimize


def converted(model: bytes, *, name: str = "", **options: Any) -> tflm_memopt.Optimized:
    """optimize(), once for each model and options; the first one says the name."""
    key = model, repr(sorted({**DEFAULTS, **options}.items()))
    if key not in CONVERTED:
        CONVERTED[key] = _OPTIMIZE(model, name=name, **options)
    return CONVERTED[key]


def run_here(table: published.Table, page: Path, folders: Mapping[str, Path]) -> None:
    """A table's command in this process, so that no model is converted twice."""
    script, *arguments = tables.command(table, page, folders)
    module = importlib.import_module(script.removesuffix(".py").replace("/", "."))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [script, *arguments])
        assert not module.main()


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are converted once for all tests that ask for this."""
    monkeypatch.setattr(tflm_memopt, "optimize", converted)
    monkeypatch.setattr(tables, "_run", run_here)


# ---- int8 models of layer lists ----


@pytest.mark.parametrize("depth", [4, 10, len(RESIDUAL)])
def test_activations_keep_their_spread(depth: int) -> None:
    """Neither all saturated nor all alike: a wrong byte would be seen."""
    random = np.random.default_rng(0).integers(-128, 128, (1, 1, 16, 16, 3), np.int8)
    outcome = run_model(int8_models.from_layers(RESIDUAL[:depth]), [random], 1, 1)
    assert not outcome.failure
    values = outcome.outputs[0]
    assert 25 < values.std() < 105
    assert np.mean(np.abs(values.astype(int)) > 126) < 0.3


def test_the_model_computes_what_its_layers_say() -> None:
    inspection = tflm_memopt.inspect(int8_models.from_layers(RESIDUAL))
    taps = {"conv": lambda x: x["k"][0] ** 2 * x["cin"], "pw": lambda x: x["cin"], "dw": lambda x: x["k"][0] ** 2}
    taps["fc"] = taps["pw"]
    said = sum(x["ho"] * x["wo"] * x["cout"] * taps[x["type"]](x) for x in RESIDUAL if x["type"] in taps)
    assert sum(op.macs for op in inspection.operators) == said
    assert all(op.supported for op in inspection.operators)
    assert sum(op.dead_channels for op in inspection.operators) == 0


def test_an_unknown_layer() -> None:
    with pytest.raises(ValueError, match="'lstm'"):
        int8_models.from_layers([layer("lstm", 4, 2, 2)])


@pytest.mark.slow
def test_executed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tiny_residual_tail.json").write_text(json.dumps(RESIDUAL))
    page = tmp_path / "page.md"
    page.write_text("<!-- executed:begin -->\n<!-- executed:end -->")
    arguments = ["--nets", str(tmp_path), "--only", "tiny", "--max-macs", "1", "4", "--runs", "1", "--json"]
    arguments += ["--update", str(page)]
    assert executed.main(arguments) == 0
    once, most = json.loads(capsys.readouterr().out)
    assert once["overhead"] == 1.0
    assert most["total"] <= once["total"] < once["original"]
    for row in (once, most):
        assert row["bit_exact"]
        assert row["runs"] == 4
        assert row["counted"] <= row["head"] == row["total"] - row["tail"]
    assert page.read_text().count("| tiny_residual_tail |") == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("net", "overhead", "most"), [("mn2-vww5", 1.1, 8_800), ("mbv2-w035", 1.1, 7_400), ("mbv2-w035", 4.0, 5_900)]
)
@pytest.mark.usefixtures("once")
def test_plans_of_the_frontier_are_executed(
    net: str, overhead: float, most: int, outside: Callable[[str], Path]
) -> None:
    """In as many bytes as a search over the geometry can give, msf-CNN's convention: 1 % more at the most."""
    name = f"{net}_residual_tail"
    layers = read_nets(outside("paper_nets"))[name]
    (row,) = executed.rows(name, layers, (overhead,), "external", runs=1)
    assert row.bit_exact
    assert row.overhead <= overhead
    assert row.counted <= 1.01 * most


# ---- vMCU ----


def test_figure_1c() -> None:
    assert vmcu.figure_1c() == {"separate": 10, "formula": 7, "ours": 7}


def test_single_layers_take_vmcu_s_closed_form() -> None:
    found = vmcu.layers()
    assert [x.ours for x in found] == [x.formula for x in found]
    assert next(x for x in found if x.name == "80x80, 16 to 16").saved == pytest.approx(0.5, abs=0.001)


@pytest.mark.slow
def test_bottlenecks_are_below_vmcu_s_figures() -> None:
    found = {b.name: b for b in vmcu.bottlenecks()}
    assert len(found) == 25
    for b in found.values():
        assert b.again <= min(b.vmcu, b.once)
        assert b.paper is None or b.once <= 1000 * b.paper
    assert found["B1"].paper == 102.7
    assert found["B2"].tinyengine == 247_808
    assert max(b.once for b in found.values()) <= 102_700
    assert found["S1"].once <= (1 - 0.615) * found["S1"].tinyengine


@pytest.mark.slow
def test_headroom_is_vmcu_s_at_least() -> None:
    found = vmcu.headroom()
    least_image, least_channels = (low for low, _ in vmcu.RANGE_7_4.values())
    assert min(h.image for h in found) >= least_image
    assert min(h.channels for h in found) >= least_channels


@pytest.mark.slow
def test_vmcu_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vmcu, "TABLE_2", vmcu.TABLE_2[:1])
    page = tmp_path / "page.md"
    names = ("vmcu-layers", "vmcu-bottlenecks", "vmcu-headroom")
    page.write_text("\n".join(f"<!-- {name}:begin -->\n<!-- {name}:end -->" for name in names))
    assert vmcu.main(["--json", "--update", str(page)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"figure_1c", "layers", "bottlenecks", "headroom"}
    assert page.read_text().count("| S1 |") == 2


# ---- fused tiling ----


@pytest.mark.slow
def test_fused_tiling_s_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert examples.main(["--json"]) == 0
    example, text = json.loads(capsys.readouterr().out)
    assert example["head_before"] == example["thesis_before"] == 6144
    assert example["head"] < example["thesis_after"] == 4096
    assert text["head_before"] == 256 * 4 + 256 * 16
    assert text["saved"] >= 0.76
    assert text["total"] <= (1 - 0.76) * text["total_before"]
    assert example["bit_exact"] and text["bit_exact"]
    assert not tflm_memopt.optimize(examples.text_model()).report.kept_builtin


@pytest.mark.slow
def test_the_running_example_tiled_by_depth_has_the_same_bytes() -> None:
    whole, halves = (tiled_paths.int8_example(tiles) for tiles in (1, 2))
    assert tflm_memopt.verify(whole, halves, runs=5).bit_exact


# ---- where tables go ----


@pytest.mark.slow
def test_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tiny.tflite").write_bytes(int8_models.from_layers(RESIDUAL))
    page = tmp_path / "page.md"
    page.write_text("<!-- seconds:begin -->\n<!-- seconds:end -->")
    assert seconds.main([str(tmp_path), "--json", "--update", str(page)]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["model"] == "tiny"
    assert 0 < row["optimize_seconds"] < 60
    assert 0 < row["explore_seconds"] < 60
    assert row["points"] >= 1
    assert "| tiny |" in page.read_text()


def test_a_page_without_marks() -> None:
    with pytest.raises(ValueError, match="no <!-- x:begin -->"):
        tables.updated("<!-- x:end --><!-- x:begin -->", "x", "table")


def test_every_table_between_marks_is_known() -> None:
    """And none is empty."""
    pages = {page: page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))}
    marks = {(p.relative_to(ROOT).as_posix(), m) for p, text in pages.items() for m in MARK.findall(text)}
    assert marks == {(table.page, table.name) for table in published.TABLES}
    for page, name in marks:
        assert "\n| --- |" in tables.between(pages[ROOT / page], name)[0], f"{page}: {name} is empty"


AGAIN = sorted((t for t in published.TABLES if not t.of), key=lambda t: t.command)
"""One command may make several: it is run once by the worker that has them."""
OUTSIDE = {"models": ".", "nets": "paper_nets"}
"""Folders of public files that tables are made of."""
MADE: tables.Pages = {}


@pytest.mark.slow
@pytest.mark.parametrize("table", [t for t in AGAIN if not t.folders], ids=lambda t: f"{t.page}:{t.name}")
@pytest.mark.usefixtures("once")
def test_tables_that_are_quick_to_make_are_those_of_the_tree(table: published.Table) -> None:
    """`python benchmarks/tables.py --write` makes them again; --check looks at the others as well."""
    assert tables.stale(table, ROOT, {}, MADE) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "table", [t for t in AGAIN if t.folders and t.folders <= OUTSIDE.keys()], ids=lambda t: f"{t.page}:{t.name}"
)
@pytest.mark.usefixtures("once")
def test_tables_of_public_models_are_those_of_the_tree(table: published.Table, outside: Callable[[str], Path]) -> None:
    folders = {name: outside(folder) for name, folder in OUTSIDE.items()}
    assert tables.stale(table, ROOT, folders, MADE) == ""


def test_a_command_runs_once_for_all_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: published.Table, page: Path, __: object) -> None:
        ran.append(page)
        for name, text in (("a", "old"), ("b", "new")):
            tables.update(page, name, text)

    ran: list[Path] = []
    monkeypatch.setattr(tables, "_run", run)
    (tmp_path / "page.md").write_text("".join(f"<!-- {n}:begin -->\nold\n<!-- {n}:end -->\n" for n in "ab"))
    made: tables.Pages = {}
    found = [tables.stale(published.Table("page.md", name, "both.py"), tmp_path, {}, made) for name in "ab"]
    assert found == ["", "another one is made today"]
    assert len(ran) == 1


def test_a_table_that_is_measured_is_stale_when_what_it_was_measured_on_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = [b"old"]
    table = published.Table("page.md", "x", "none.py {models}", of=lambda paths: iter([*code, *map(bytes, paths)]))
    monkeypatch.setattr(tables, "_run", lambda *_: None)
    (tmp_path / "page.md").write_text("<!-- x:begin -->\nmeasured\n<!-- x:end -->\n")
    folders = {"models": tmp_path}
    assert "not recorded" in tables.stale(table, tmp_path, folders, {})
    tables.write(table, tmp_path, folders)
    assert tables.stale(table, tmp_path, folders, {}) == ""
    code[0] = b"new"
    assert "have changed" in tables.stale(table, tmp_path, folders, {})


def test_a_table_that_is_made_again_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = ["| a |"]
    table = published.Table("page.md", "x", "none.py")
    monkeypatch.setattr(tables, "_run", lambda _, page, __: tables.update(page, "x", made[0]))
    (tmp_path / "page.md").write_text("<!-- x:begin -->\n| a |\n<!-- x:end -->\n")
    assert tables.stale(table, tmp_path, {}, {}) == ""
    made[0] = "| b |"
    assert "another one" in tables.stale(table, tmp_path, {}, {})
    tables.write(table, tmp_path, {})
    assert tables.stale(table, tmp_path, {}, {}) == ""


def test_stale_tables_end_the_check_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tables, "stale", lambda table, *_: "old" if table.name == "vmcu-layers" else "")
    assert tables.main(["--check"]) == 1
    said = capsys.readouterr().out
    assert "docs/benchmarks.md:vmcu-layers: old\n" in said
    assert "README.md:board: not looked at, needs --models\n" in said
    assert tables.main(["--check", "--only", "docs/benchmarks.md:vmcu-headroom"]) == 0


@pytest.mark.slow
def test_a_model_s_digest_follows_its_conversion(tmp_path: Path) -> None:
    """Of tables of models alone; the file's name has no part in it."""
    table = next(t for t in published.TABLES if t.name == "seconds")
    (tmp_path / "a.tflite").write_bytes(int8_models.from_layers(LAYERS))
    before = published.digest(table, {"models": tmp_path})
    (tmp_path / "a.tflite").rename(tmp_path / "b.tflite")
    assert published.digest(table, {"models": tmp_path}) == before
    (tmp_path / "c.tflite").write_bytes(int8_models.from_layers(LAYERS[:1]))
    assert published.digest(table, {"models": tmp_path}) != before


@pytest.mark.slow
def test_code_s_digest_is_that_of_the_core() -> None:
    if reason := missing_tools(CORES["m4"]):
        pytest.skip(reason)
    assert published.code(CORES["m3"]) != published.code(CORES["m4"]) != b""


@pytest.mark.slow
def test_speed(tmp_path: Path, capsys: pytest.CaptureFixture[str], example: bytes) -> None:
    """Packed kernels take a fraction of the generic ones' instructions; figures per operator add up to the whole."""
    if reason := missing_tools(CORES["m4"]):
        pytest.skip(reason)
    (tmp_path / "shapes.tflite").write_bytes(example)
    page = tmp_path / "page.md"
    page.write_text("<!-- speed-m4:begin -->\n<!-- speed-m4:end -->")
    rows = []
    for target in ("cortex-m4", "generic"):
        flags = ["--core", "m4", "--models", str(tmp_path), "--target", target, "--json", "--update", str(page)]
        assert speed.main(flags) == 0
        (row,) = json.loads(capsys.readouterr().out)["models"]
        rows.append(row)
    fast, plain = rows
    assert fast["model"] == "shapes" and fast["macs"] == plain["macs"]
    assert fast["instructions"] * 2 < plain["instructions"]
    assert fast["per_mac"] == pytest.approx(fast["instructions"] / fast["macs"], abs=0.001)
    assert sum(o["instructions"] for o in fast["operators"]) == pytest.approx(fast["instructions"], rel=0.1)
    assert sum(b["instructions"] for b in fast["blocks"]) == sum(o["instructions"] for o in fast["operators"])
    assert 0 <= fast["arena"] - plain["arena"] < 5000
    assert "| shapes |" in page.read_text()


@pytest.mark.slow
def test_speed_along_the_frontier(tmp_path: Path, capsys: pytest.CaptureFixture[str], example: bytes) -> None:
    """What optimize gives, then every other plan within the budget, none of which takes more RAM."""
    if reason := missing_tools(CORES["m4"]):
        pytest.skip(reason)
    (tmp_path / "shapes.tflite").write_bytes(example)
    page = tmp_path / "page.md"
    page.write_text("<!-- frontier-m4:begin -->\n<!-- frontier-m4:end -->")
    flags = ["--core", "m4", "--models", str(tmp_path), "--frontier", "1.1", "--without", "recompute"]
    assert speed.main([*flags, "--json", "--update", str(page)]) == 0
    first, *others = json.loads(capsys.readouterr().out)["models"]
    assert all(row["overhead"] <= 1.1 * first["overhead"] for row in others)
    assert all(row["arena"] <= first["arena"] and row != first for row in others)
    assert page.read_text().count("| shapes |") == 1 + len(others)


@pytest.mark.slow
def test_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fit to a few networks has a cost for each kernel that ran; other cores' tables stay."""
    if reason := missing_tools(CORES["m3"]):
        pytest.skip(reason)
    page, output = tmp_path / "page.md", tmp_path / "costs.json"
    page.write_text("<!-- costs:begin -->\n<!-- costs:end -->")
    output.write_text(json.dumps({"cores": {"rv32": json.loads(costs.TABLE.read_text())["cores"]["rv32"]}}))
    flags = ["--held-out", "tabular", "gesture", "--cores", "m3", "--networks", "14"]
    assert costs.main([*flags, "--output", str(output), "--update", str(page)]) == 0
    found = json.loads(output.read_text())["cores"]
    assert list(found) == ["cortex-m3", "rv32"]
    assert found["cortex-m3"]["plans"] >= 2
    kernels = found["cortex-m3"]["kernels"]
    assert {"CONV", "DEPTHWISE"} <= {kernel.split()[0] for kernel in kernels}
    assert all(min(each) >= 0 and any(each) for each in kernels.values())
    assert "cortex-m3" in capsys.readouterr().out and "| cortex-m3 |" in page.read_text()


def test_every_family_is_drawn_from_its_seed() -> None:
    count = len(fit_networks.FAMILIES)
    seeds = [*range(count), *range(fit_networks.MORE_FROM, fit_networks.MORE_FROM + len(fit_networks.MORE))]
    networks = [fit_networks.network(seed) for seed in seeds]
    assert networks == [fit_networks.network(seed) for seed in seeds]
    assert networks[0] != fit_networks.network(count)
    assert {fit_networks.FAMILIES[seed] for seed in range(count) if fit_networks.is_rare(seed)} == {*fit_networks.RARE}
