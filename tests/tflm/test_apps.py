"""Run several interpreters on one MicroAllocator, in TFLM of spring and of autumn 2023.

For any order of inferences and pushes, each model gives the bytes of its original in the current wheel, and no byte
between their buffers is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streaming
from applications import MISSING, TFLM, Machine, built, compare, interleaved
from conftest import KEYWORDS, WAKE_WORD, WINDOW
from unit.command import CLOCKED, long, pausing, small

from tflm_memopt import App, AppModel, optimize
from tflm_memopt.apps.results import AppOptimized

STEPS, BOTH = 300, 255
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=MISSING)]
LOW: Mapping[str, Any] = {"effort": "low", "seconds": 0.2}


@pytest.fixture(scope="session", params=TFLM["AGES"], ids=lambda tflm: tflm.name)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return built(tmp_path_factory.mktemp("apps"), request.param)


def two() -> App:
    return App(
        {"camera": AppModel(small(1), {"input": "stream"}), "wake": AppModel(small(2), retain=True)}, options=LOW
    )


def three() -> App:
    models = {
        "camera": AppModel(small(1), {"input": "stream:2"}),
        "state": AppModel(streaming.mixed()),
        "wake": AppModel(small(2), retain=True),
    }
    return App(models, (("state", "wake"),), options=LOW)


def test_turns_in_random_order(machine: Machine) -> None:
    result = optimize(three())
    order, runs = interleaved(result, STEPS)
    assert len(order) > 0.9 * STEPS
    compare(machine, result, order, runs)


def test_the_longer_one_pauses(machine: Machine) -> None:
    share = 0.2
    result = optimize(pausing(share))
    (one,) = result.report.pausing
    assert one.model == "long" and len(one.pauses) >= 1 / share - 1
    order, runs = interleaved(result, STEPS)
    compare(machine, result, order, runs)


def test_out_of_turn_nothing_runs(machine: Machine) -> None:
    """While the longest model is in an inference, a third model that both exclude is refused."""
    app = pausing(0.2)
    result = optimize(replace(app, models={**app.models, "other": AppModel(small(7))}))
    order, runs = interleaved(result, STEPS)
    assert compare(machine, result, order, runs) > 30


def test_a_partition_pauses_for_the_other(machine: Machine) -> None:
    """Its output stays meanwhile: the longer partition pauses while the shorter one processes the previous frame."""
    result = optimize(App({"net": AppModel(long(), pipeline=[2])}, yields=2.0, options=CLOCKED))
    assert [one.model for one in result.report.pausing] == ["net_1"]
    assert [kept.model for kept in result.report.reserved] == ["net_1"]
    order, runs = interleaved(result, STEPS)
    compare(machine, result, order, runs)


def test_at_the_same_time_in_two_threads(machine: Machine) -> None:
    models = {"wake": AppModel(small(1)), "state": AppModel(streaming.mixed())}
    result = optimize(App(models, (("wake", "state"),), options=LOW))
    compare(machine, result, [BOTH], {"wake": 100, "state": 100})


def test_trained_models(machine: Machine) -> None:
    models = {"words": AppModel(KEYWORDS), "wake": AppModel(WAKE_WORD), "window": AppModel(WINDOW)}
    result = optimize(App(models, (("wake", "window"),)))
    order, runs = interleaved(result, 120)
    compare(machine, result, order, runs)


IN_TIME = {"clock": "180MHz", "core": "cortex-m4", "target": "cortex-m4"}


FILES = {"vww": "mlperf_tiny_vww_96_int8", "kws": "mlperf_tiny_kws_dscnn_int8", "okay_nabu": "mww_okay_nabu_v2"}


@cache
def of_vww(short: str, yields: float | None, outside: Callable[[str], Path]) -> AppOptimized:
    """Vww and a shorter model that may run at the same time."""
    models = {name: AppModel(outside(f"{FILES[name]}.tflite")) for name in ("vww", short)}
    return optimize(App(models, (("vww", short),), yields, options=IN_TIME))


@pytest.mark.parametrize(
    ("short", "side_by_side", "paused", "least"),
    [("okay_nabu", 32_948, 32_164, 32_150)],
)
def test_vww_pauses_every_20_ms(
    machine: Machine, short: str, side_by_side: int, paused: int, least: int, outside: Callable[[str], Path]
) -> None:
    """Arena bytes match taking turns: a tenth less than side by side with kws, and less than one head with
    okay_nabu.
    """
    apart, result = of_vww(short, None, outside).report, of_vww(short, 20.0, outside)
    report = result.report
    assert (apart.arena.total, report.arena.total) == (side_by_side, paused)
    assert report.lower_bound_head + report.arena.tail == least
    assert report.arena.head == result.models["vww"].report.arena.head
    assert (paused <= 0.9 * side_by_side) == (short == "kws")
    assert all(one.milliseconds <= 20 for one in report.pausing)
    assert paused <= dict(report.curve)[10.0] < side_by_side
    order, runs = interleaved(result, 60)
    compare(machine, result, order, runs)
