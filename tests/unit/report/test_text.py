"""Test the text report: computed values, the convention with every RAM figure, and escaped names."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import on_two_cores
from models import Net
from rich.console import Console, RenderableType

import tflm_memopt
from tflm_memopt.analysis.timing import Clock, Inference, Span, Time, time_of
from tflm_memopt.report import text
from tflm_memopt.results import InterfaceReport, KeptBuiltin, Macs, Report
from tflm_memopt.runtime.cases import Difference
from tflm_memopt.runtime.process import RecordedArena
from tflm_memopt.runtime.verification import ComparedConstants, Measured, Verification

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


def test_arena_blocks_and_files(report: Report) -> None:
    said = optimized(report)
    arena = report.arena
    assert [f"{arena.head:,}", f"{arena.tail:,}", f"{arena.total:,}", f"{arena.min:,}"] in [
        line.split()[1:] for line in said.splitlines()
    ]
    assert f"head at least {report.lower_bound_head:,} B" in said
    assert all(f"{block.bytes:,}" in said for block in report.blocks)
    assert "Written to out\n" in said.replace(" " * 10, "")
    assert "small_ops.h" in said
    assert "stay builtin" not in said


def test_what_was_cut_short_is_said(report: Report) -> None:
    assert "cut short" not in optimized(replace(report, cut_short=()))
    said = optimized(replace(report, cut_short=("row blocks", "orders of operators")))
    assert "cut short: row blocks, orders of operators; --effort high searches longer" in said


def test_percent_and_recompute(report: Report) -> None:
    grown = replace(report, overhead=1.25, macs=Macs(1000, 1250), arena=replace(report.arena, total=2 * 1000))
    said = optimized(replace(grown, original_arena=replace(report.original_arena, total=8000)))
    assert "8,000 B -> 2,000 B (-75 %)" in said
    assert "1.25" in said
    assert "1,000 -> 1,250 MACs" in said
    assert "no recompute" not in said


def test_dead_channels_are_said(report: Report) -> None:
    assert "dead" not in optimized(report)
    folded = replace(report, overhead=0.8, macs=Macs(1000, 800), dead_channels=3)
    assert "0.80" in optimized(folded)
    assert "1,000 -> 800 MACs, 3 dead channels folded away" in optimized(folded)
    assert "1 dead channel folded away" in optimized(replace(folded, dead_channels=1))


def test_a_figure_that_is_not_known_is_not_shown_as_one(report: Report) -> None:
    assert "at least" not in optimized(report).replace("head at least", "")
    arenas = (replace(arena, unknown=("SVDF",)) for arena in (report.original_arena, report.arena))
    said = optimized(replace(report, **dict(zip(("original_arena", "arena"), arenas, strict=True)), boards=()))
    before, after = report.original_arena.total, report.arena.total
    assert f"at least {before:,} B -> at least {after:,} B" in said
    assert "without what SVDF allocates, which is unknown" in " ".join(said.split())
    assert f"at least {before:,} B -> at least {after:,} B (" not in said


def test_kept_operators_are_grouped_by_reason(report: Report) -> None:
    kept = tuple(KeptBuiltin(i, "MUL", "no_kernel", "no row kernel", "leave it") for i in (3, 4, 5, 9))
    other = KeptBuiltin(7, "ADD", "shape", "shapes differ", "reshape before")
    said = optimized(replace(report, kept_builtin=(*kept, other)))
    line = next(line for line in said.splitlines() if "MUL" in line)
    assert "no row kernel" in line
    assert "leave it" in line
    assert "3..5, 9" in line
    assert "reshape before" in said


def test_interface_and_refusals(report: Report) -> None:
    change = InterfaceReport("input", "image", "FLOAT32", "INT8 scale 0.5 zero point -128")
    said = optimized(replace(report, interface=(change,), interface_kept=("'y': no DEQUANTIZE writes it",)))
    assert "input 'image': FLOAT32 -> INT8 scale 0.5 zero point -128" in said
    assert "'y': no DEQUANTIZE writes it" in said


def test_names_that_converters_joined_are_shown_short(report: Report) -> None:
    joined = "sequential/re_lu/Relu;sequential/batch_normalization/FusedBatchNormV3;sequential/conv2d/Conv2D"
    said = optimized(replace(report, interface=(InterfaceReport("output", joined, "FLOAT32", "INT8"),)))
    assert "output 're_lu/Relu': FLOAT32 -> INT8" in said


def test_unchanged_says_why(report: Report) -> None:
    same = replace(report, changed=False, why_unchanged="no less arena", blocks=())
    assert optimized(same).splitlines()[0].rstrip() == "small.tflite: unchanged, no less arena"


def test_names_are_one_harmless_line(report: Report) -> None:
    said = optimized(replace(report, model="a\n[bold]b\x1b[31m.tflite"))
    assert said.startswith(r"a\n[bold]b\x1b[31m.tflite: rewritten")


def test_bit_exact() -> None:
    said = shown(text.verification(EXACT))
    assert said.startswith("no difference in 15 runs")
    assert "10 random (seed 7), 3 extreme, 2 given" in said
    assert "official TFLM" in said
    assert "4 times between canaries" in said
    assert "measured" not in said


def test_constants_that_differ_are_told() -> None:
    found = ComparedConstants(3, 1, tuple(f"operator {n} differs" for n in range(7)))
    said = shown(text.verification(replace(EXACT, constants=found)))
    assert said.startswith("DIFFERENT")
    assert "weights, biases and scales of 3 operators equal the original's" in said
    assert "1 operators have no counterpart in the original" in said
    assert "operator 4 differs" in said and "operator 5" not in said and "and 2 more" in said


def test_measured_with_its_convention() -> None:
    measured = Measured(RecordedArena(1000, 2000, 3000), RecordedArena(100, 200, 300))
    said = shown(text.verification(replace(EXACT, measured=measured)))
    assert "lp64, recording interpreter" in said
    assert ["original", "1,000", "2,000", "3,000"] in [line.split() for line in said.splitlines()]
    assert ["rewritten", "100", "200", "300"] in [line.split() for line in said.splitlines()]


def test_the_reference_kernels_are_named() -> None:
    assert "no official TFLM wheel" in shown(text.verification(replace(EXACT, how="host-reference")))


def test_a_difference_is_shown_where_it_is() -> None:
    difference = Difference(3, "random 3", 1, "scores", (0, 4), -3, 7, 12)
    said = shown(text.verification(replace(EXACT, difference=difference)), width=200)
    assert said.startswith("DIFFERENT")
    assert "run 3 (random 3), output 1 'scores' at [0, 4]: original -3, rewritten 7; 12 elements" in said
    said = shown(text.verification(replace(EXACT, failure="the rewritten model crashed in TFLM (SIGSEGV)")))
    assert "\n  the rewritten model crashed in TFLM (SIGSEGV)" in said


def test_inspection_on_a_narrow_terminal(example: bytes) -> None:
    result = tflm_memopt.inspect(example, name="shapes.tflite")
    wide, narrow = shown(text.inspection(result)), shown(text.inspection(result), width=60)
    assert CONVENTION in wide
    assert "18 of 18 run row by row" in wide
    assert sum("peak" in line for line in wide.splitlines()) == 1
    assert "1x96 int8" in wide  # operator 15, MEAN
    assert max(map(len, narrow.splitlines())) <= 60


M4 = Clock("cortex-m4", 64.0, "nano33ble")


def timed(report: Report, clock: Clock | None, original: int | None, rewritten: int | None) -> str:
    cycles = (4_800_000.0, 6_400_000.0) if rewritten and rewritten != original else None
    return optimized(replace(report, time=time_of(clock, "cortex-m4", original, rewritten, cycles)))


def test_time_before_and_after_with_what_it_rests_on(report: Report) -> None:
    said = " ".join(timed(report, M4, 8_000_000, 4_000_000).split())
    assert re.search(
        r"time \d+ to \d+ ms -> 75 to 100 ms \(-\d+ to -\d+ %\) nano33ble, cortex-m4, 64 MHz, 1\.2 to 1\.6 cycles an",
        said,
    )
    assert "original with CMSIS-NN" in said
    assert "instructions 8.00 M -> 4.00 M (-50 %)" in said


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


def test_more_instructions_are_slower_where_no_clock_is_known(report: Report) -> None:
    said = timed(report, None, 1_000_000, 1_690_000)
    assert said.splitlines()[0].rstrip() == "small.tflite: rewritten, slower: +69 % instructions"


def test_what_is_not_known_of_a_time_is_not_said(report: Report) -> None:
    assert "time not known -> 75 to 100 ms nano33ble" in " ".join(timed(report, M4, None, 4_000_000).split())
    assert "CMSIS-NN" not in timed(report, M4, None, 4_000_000)
    elsewhere = " ".join(timed(report, Clock("Xtensa LX6", 240.0, "esp32"), None, None).split())
    assert "time not known esp32, Xtensa LX6, 240 MHz" in elsewhere
    assert "instructions" not in elsewhere


def test_operators_that_nobody_counted_are_why_a_time_is_not_known(report: Report) -> None:
    said = " ".join(timed(report, M4, None, None).split())
    assert "the instructions of some of its operators are unknown" in said
    assert "cycles" not in said


def test_without_a_clock_there_are_instructions(report: Report) -> None:
    said = timed(report, None, None, None)
    assert "--board gives milliseconds" in said
    assert "  time" not in said


def test_a_model_that_stays_has_one_time(report: Report) -> None:
    stays = replace(report, changed=False, why_unchanged="x", time=time_of(M4, "cortex-m4", 8_000_000, 8_000_000))
    said = " ".join(optimized(stays).split())
    assert re.search(r"time \d+ to \d+ ms nano33ble, cortex-m4, 64 MHz", said)
    assert "instructions 8.00 M estimated" in said


@pytest.mark.slow
def test_two_cores_are_told_with_the_stack_of_the_second(tmp_path: Path) -> None:
    result = on_two_cores(target="generic")
    said = " ".join(shown(text.optimized(result.report, tmp_path, ()), 400).split())
    first, second = result.report.cores
    assert f"two cores {first.share:.1%} + {second.share:.1%} of one core's instructions, estimated; they meet" in said
    assert f"times; core 1's stack takes {second.stack:,} B" in said
