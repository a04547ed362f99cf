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
