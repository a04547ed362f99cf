"""Estimated times state for which cores a board gives milliseconds, and how many cores they assume."""

from dataclasses import replace
from typing import Any

import pytest
from models import Net

import tflm_memopt
from tflm_memopt.analysis.timing import Inference
from tflm_memopt.answers.report import Report
from tflm_memopt.report import facts, times


def report_of(**options: Any) -> Report:
    net = Net(4)
    x = net.input((1, 16, 16, 8))
    for _ in range(3):
        x = net.conv2d(x, 8, kernel=(3, 3))
    return tflm_memopt.optimize(net.model(x), **options).report


def remarks(**options: Any) -> dict[str, str]:
    return {name: remark for name, _, remark in facts.of_report(report_of(**options))}


@pytest.mark.parametrize(
    ("core", "known"), [("cortex-m0", True), ("cortex-m4", True), ("rv32", True), ("cortex-m33", False)]
)
def test_a_board_is_recommended_only_if_the_cycles_of_the_core_are_known(core: str, known: bool) -> None:
    assert ("--board gives milliseconds" in remarks(core=core)["instructions"]) == known


def test_the_time_of_a_model_for_two_cores_assumes_one_core() -> None:
    assert "the time above is for one core" in remarks(board="pico", cores=2)["two cores"]
    assert "the time above" not in remarks(cores=2)["two cores"]


@pytest.mark.parametrize(("cores", "end"), [(1, "time"), (2, "time on one core")])
def test_a_warning_says_on_how_many_cores_a_model_is_slower(cores: int, end: str) -> None:
    report = report_of(board="esp32s3", cores=cores)
    assert report.time
    slower = replace(report.time, rewritten=Inference(None, (100.0, 100.0)))
    warning = times.verdict(replace(report, time=slower, faster=None))
    assert warning.startswith("rewritten, slower: ")
    assert warning.endswith(f"% {end}")
