"""Compare estimated and counted instructions for the networks of tests/unseen.py, to which no estimate was fitted.

The file unseen.json has the instruction counts of the original networks under TFLM with CMSIS-NN.
"""

import functools
import hashlib
import json
import re
import statistics
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import unseen
from conftest import QUICKLY, ROOT
from cores.cases import model_cases, run
from cores.core import MEASURED, missing_tools
from models import Net
from property.forced import forced
from property.oracle import rewrite

import tflm_memopt
from tflm_memopt.analysis import costs
from tflm_memopt.analysis.builtin_cost import builtins, of_model
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.work import work
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE
from tflm_memopt.targets.boards import boards

HERE = Path(__file__).parent
COUNTED: Mapping[str, Any] = json.loads((HERE / "unseen.json").read_text(encoding="utf-8"))["networks"]
CORE = MEASURED["m4"]
CLOCKS = {
    core: boards()[name].clock(core)
    for core, name in (("cortex-m4", "nano33ble"), ("cortex-m3", "bluepill"), ("cortex-m0", "pico"))
}
SLOW = ("segments", "large_windows", "narrow_shortcuts")
MARGIN = 0.02
TILED = (
    "keyword_separable", "spectrogram_mobilenet", "person", "bottlenecks", "hard_swish", "plain", "digits", "fire",
)  # fmt: skip
WHOLE = 0xFFFF


@functools.cache
def original(name: str) -> bytes:
    return unseen.network(name)


def test_the_networks_are_those_that_were_counted() -> None:
    assert COUNTED.keys() == unseen.NETWORKS.keys()
    assert len(COUNTED) >= 30
    for name, row in COUNTED.items():
        digest = hashlib.sha256(original(name)).hexdigest()[:16]
        assert digest == row["digest"], f"{name} changed: count its instructions under TFLM again"


@pytest.mark.parametrize("core", CLOCKS)
def test_originals_are_estimated_within_the_stated_error(core: str) -> None:
    stated, clock = builtins(core), CLOCKS[core]
    assert stated
    assert clock.rates
    off, inside = [], 0
    for name, row in COUNTED.items():
        counts = of_model(read(original(name)).graph, core)
        assert counts, name
        estimate, counted = sum(counts.values()), row["original"][core]
        off.append(estimate / counted - 1)
        span = clock.builtin(counts)
        assert span
        least, most = (end * counted / estimate for end in clock.rates.builtin(counts))
        inside += span[0] <= least < most <= span[1]
    assert statistics.median(map(abs, off)) <= 0.03
    assert (stated.low, stated.high) == pytest.approx((-min(off), max(off)), abs=0.001)
    assert max(stated.low, stated.high) <= 0.1
    assert inside >= len(COUNTED) - 2, "printed ranges do not contain counted instructions times modelled cycles"


@pytest.mark.slow
def test_rewritten_networks_are_estimated_within_the_stated_error() -> None:
    target = "cortex-m4"
    if reason := missing_tools(CORE):
        pytest.skip(reason)
    table, clock = costs.tables()["cortex-m4"], CLOCKS["cortex-m4"]
    rates = clock.rates
    assert rates
    off, inside, reading = {}, 0, []
    names = [name for name in COUNTED if name not in SLOW][::5]
    for name in names:
        result = tflm_memopt.optimize(original(name), target=target, effort=QUICKLY)
        outcomes = run(CORE, model_cases(result.model, by_operator=True))
        assert all(outcome.wrong == 0 for outcome in outcomes)
        # A run that reads the clock after each iteration takes more instructions than an uninterrupted run.
        operators = [n for outcome in outcomes for n in outcome.operators]
        readings, whole = sum(n for outcome in outcomes for n in outcome.steps), sum(o.instructions for o in outcomes)
        if any(done.state_writes for done in result.work):
            counted = round(sum(operators) - statistics.median(reading) * readings)
        else:
            counted = whole
            reading.append((sum(operators) - whole) / readings)
        off[name] = table.instructions(result.work) / counted - 1
        print(f"{name} {target}: {counted:,} counted, estimate {off[name]:+.1%}")
        span = clock.cycles(result.work)
        assert span
        each = [rates.of(done, n) for n, done in zip(operators, result.work, strict=True)]
        low, *high = map(sum, zip(*each, strict=True))
        least, most = (counted / sum(operators) * end for end in (low, max(high)))
        inside += span[0] <= least < most <= span[1]
    assert statistics.median(map(abs, off.values())) <= 0.03
    assert all(-table.low - MARGIN <= error <= table.high + MARGIN for error in off.values()), off
    assert inside >= len(names) - 2, "printed ranges do not contain counted instructions times modelled cycles"


@pytest.mark.slow
def test_tiled_networks_are_estimated_within_the_stated_error() -> None:
    if reason := missing_tools(CORE):
        pytest.skip(reason)
    table = costs.tables()["cortex-m4"]
    options = ConversionOptions(seconds=0, fold=False, target="cortex-m4", reorder=False, tiles=NO_RECOMPUTE)
    plans = {}
    for name in TILED:
        for tile, at_once in ((1, 1), (1, 4), (2, 1), (4, 1), (WHOLE, 1)):
            settings = replace(NO_RECOMPUTE, tile=tile, at_once=at_once, group_channels=0)
            with forced(settings, seed=1):
                model, planned = rewrite(original(name), options)
            plans[name, tile, at_once] = model_cases(model), table.instructions(work(planned))
    outcomes = iter(run(CORE, [case for cases, _ in plans.values() for case in cases]))
    off = {}
    for key, (cases, estimate) in plans.items():
        counted = [next(outcomes) for _ in cases]
        assert all(outcome.right for outcome in counted), key
        off[key] = estimate / sum(outcome.instructions for outcome in counted) - 1
        print(f"{key}: estimate {off[key]:+.1%}")
    assert statistics.median(map(abs, off.values())) <= 0.03
    assert max(map(abs, off.values())) <= 0.1, off


@pytest.mark.slow
@pytest.mark.parametrize(("channels", "kernel", "out"), [(3, 3, 8), (1, 3, 16), (2, 5, 12), (4, 3, 16)])
def test_single_pixels_of_whole_rows_are_estimated_as_one_call_for_each_row(
    channels: int, kernel: int, out: int
) -> None:
    if reason := missing_tools(CORE):
        pytest.skip(reason)
    net = Net(5)
    model = net.model(net.conv2d(net.input((1, 24, 24, channels)), out, kernel=(kernel, kernel), stride=(2, 2)))
    options = ConversionOptions(seconds=0, fold=False, target="cortex-m4", reorder=False, tiles=NO_RECOMPUTE)
    with forced(replace(NO_RECOMPUTE, tile=1, at_once=1, group_channels=0), seed=1):
        rewritten, planned = rewrite(model, options)
    (done,) = work(planned)
    (outcome,) = run(CORE, model_cases(rewritten))
    assert outcome.right
    assert done.iterations == 12 * done.calls == 144
    assert costs.tables()["cortex-m4"].instructions([done]) == pytest.approx(outcome.instructions, rel=0.08)


@pytest.mark.slow
def test_instructions_without_a_target_are_in_the_range_of_docs_benchmarks() -> None:
    if reason := missing_tools(CORE):
        pytest.skip(reason)
    page = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    (span,) = re.findall(
        r"`tests/unseen.py` took ([\d.]+) to ([\d.]+) times the instructions of TFLM with CMSIS-NN", page
    )
    name = "keyword_separable"
    model = tflm_memopt.optimize(original(name), effort=QUICKLY).model
    counted = sum(outcome.instructions for outcome in run(CORE, model_cases(model)))
    assert float(span[0]) <= counted / COUNTED[name]["original"]["cortex-m4"] <= float(span[1])
