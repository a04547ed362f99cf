"""Test the text report: computed values, the convention with every RAM figure, and escaped names."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from models import Net
from rich.console import Console, RenderableType

import tflm_memopt
from tflm_memopt.analysis.timing import Inference, Span, Time
from tflm_memopt.report import text
from tflm_memopt.results import Report
from tflm_memopt.runtime.cases import Difference
from tflm_memopt.runtime.verification import Verification

CONVENTION = "ilp32, input in the arena, TFLM reference kernels"
EXACT = Verification(runs=10, extremes=3, files=2, seed=7, guarded=4, how="tflm-wheel")


def shown(page: RenderableType, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    with console.capture() as said:
        console.print(page)
    return said.get()


@pytest.fixture(scope="module")
def report() -> Report:
    net = Net(3)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2))
    model = net.model(net.conv2d(net.mean(net.depthwise_conv2d(x), (1, 2)), 4))
    return tflm_memopt.optimize(model, name="small.tflite").report


def optimized(report: Report) -> str:
    return shown(text.optimized(report, Path("out"), ["small.tflite", "small_ops.h"]))


def test_what_matters_comes_first(report: Report) -> None:
    title, diagnosis, arena, flash, overhead, *_ = optimized(report).splitlines()
    assert title.rstrip() == "small.tflite: rewritten"
    assert diagnosis == "  int8 from input to output"
    assert f"{report.original_arena.total:,} B -> {report.arena.total:,} B (" in arena
    assert CONVENTION in arena
    assert f"{report.flash.original:,} B -> {report.flash.rewritten:,} B" in flash
    assert "1.00" in overhead
    assert "no recompute" in overhead


def test_a_figure_that_is_not_known_is_not_shown_as_one(report: Report) -> None:
    assert "at least" not in optimized(report).replace("head at least", "")
    arenas = (replace(arena, unknown=("SVDF",)) for arena in (report.original_arena, report.arena))
    said = optimized(replace(report, **dict(zip(("original_arena", "arena"), arenas, strict=True)), boards=()))
    before, after = report.original_arena.total, report.arena.total
    assert f"at least {before:,} B -> at least {after:,} B" in said
    assert "without what SVDF allocates, which is unknown" in " ".join(said.split())
    assert f"at least {before:,} B -> at least {after:,} B (" not in said


def test_names_are_one_harmless_line(report: Report) -> None:
    said = optimized(replace(report, model="a\n[bold]b\x1b[31m.tflite"))
    assert said.startswith(r"a\n[bold]b\x1b[31m.tflite: rewritten")


def test_a_difference_is_shown_where_it_is() -> None:
    difference = Difference(3, "random 3", 1, "scores", (0, 4), -3, 7, 12)
    said = shown(text.verification(replace(EXACT, difference=difference)), width=200)
    assert said.startswith("DIFFERENT")
    assert "run 3 (random 3), output 1 'scores' at [0, 4]: original -3, rewritten 7; 12 elements" in said
    said = shown(text.verification(replace(EXACT, failure="the rewritten model crashed in TFLM (SIGSEGV)")))
    assert "\n  the rewritten model crashed in TFLM (SIGSEGV)" in said


@pytest.mark.parametrize(
    ("before", "after", "first", "change"),
    [
        ((439, 808), (492, 1005), "rewritten, slower: +12 to +24 % time", "(+12 to +24 %)"),
        ((100, 200), (98, 210), "rewritten, may be slower: -2 to +5 % time", "(-2 to +5 %)"),
        ((100, 200), (61, 134), "rewritten", "(-39 to -33 %)"),
        ((100, 200), (100.1, 200.2), "rewritten", "(+0 %)"),
    ],
)
def test_the_change_of_time_follows_from_times(
    report: Report, before: Span, after: Span, first: str, change: str
) -> None:
    """Fewer but slower instructions make a model slower."""
    both = Inference(23_900_000, before), Inference(20_600_000, after)
    said = optimized(replace(report, time=Time("cortex-m4", "nano33ble", 64.0, (1.5, 3.1), *both)))
    assert said.splitlines()[0].rstrip() == f"small.tflite: {first}"
    time, counted = (
        next(line for line in said.splitlines() if name in line) for name in ("  time ", "  instructions ")
    )
    assert change in time
    assert "(-14 %)" in counted
