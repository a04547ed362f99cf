"""Several interpreters share one MicroAllocator of TFLM of autumn 2023, and give the original's bytes for any order of
inferences.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import streaming
from applications import Machine, built, compare, interleaved
from projects import TFLM, needs_host
from unit.command import CLOCKED, long, pausing, small

from tflm_memopt import App, AppModel, optimize

STEPS, BOTH = 300, 255
pytestmark = [pytest.mark.slow, needs_host]
LOW: Mapping[str, Any] = {"effort": 0.05, "seconds": 0.2}


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return built(tmp_path_factory.mktemp("apps"), TFLM["AUTUMN"])


def test_out_of_turn_nothing_runs(machine: Machine) -> None:
    app = pausing(0.2)
    result = optimize(replace(app, models={**app.models, "other": AppModel(small(7))}))
    order, runs = interleaved(result, STEPS)
    assert compare(machine, result, order, runs) > 30


def test_a_partition_pauses_for_the_other(machine: Machine) -> None:
    result = optimize(App({"net": AppModel(long(), pipeline=[2])}, yields=2.0, options=CLOCKED))
    assert [one.model for one in result.report.pausing] == ["net_1"]
    assert [kept.model for kept in result.report.reserved] == ["net_1"]
    order, runs = interleaved(result, STEPS)
    compare(machine, result, order, runs)


def test_at_the_same_time_in_two_threads(machine: Machine) -> None:
    models = {"wake": AppModel(small(1)), "state": AppModel(streaming.mixed())}
    result = optimize(App(models, (("wake", "state"),), options=LOW))
    compare(machine, result, [BOTH], {"wake": 100, "state": 100})
