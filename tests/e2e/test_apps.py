"""Figures of docs/several-models.md, on public models: what an application of them takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import pytest
from conftest import MODELS

from tflm_memopt import App, AppModel, optimize
from tflm_memopt.application.results import AppOptimized

FILES: Mapping[str, str] = {
    "str_ww": "str_ww_ref_model",
    "kws": "mlperf_tiny_kws_dscnn_int8",
    "vww": "mlperf_tiny_vww_96_int8",
    "okay_nabu": "mww_okay_nabu_v2",
    "vad": "mww_vad_v2",
}


@dataclass(frozen=True)
class Row:
    """A row of the page."""

    names: Sequence[str]
    concurrent: Sequence[Sequence[str]]
    apart: int
    alone: int
    together: int
    limit: int
    """Bytes that it must keep to."""


ROWS = (
    Row(("str_ww", "kws", "vww"), (), 138_684, 36_748, 28_548, 28_780),
    Row(("str_ww", "kws", "vww"), (("str_ww", "vww"), ("kws", "vww")), 138_684, 36_748, 32_788, 33_020),
    Row(("okay_nabu", "vad", "kws"), (("okay_nabu", "vad"),), 50_380, 9_916, 9_364, 11_000),
)


@cache
def application(row: int) -> AppOptimized:
    names, groups = ROWS[row].names, ROWS[row].concurrent
    if not all((MODELS / f"{FILES[name]}.tflite").exists() for name in names):
        pytest.skip("the public models are not there")
    return optimize(App({name: AppModel(MODELS / f"{FILES[name]}.tflite") for name in names}, groups))


@pytest.mark.slow
@pytest.mark.parametrize("row", range(len(ROWS)))
def test_what_several_models_take(row: int) -> None:
    report, said = application(row).report, ROWS[row]
    assert report.apart == said.apart
    assert report.alone == said.alone
    assert report.arena.total == said.together <= said.limit
    assert row or report.shared == 115_796


@pytest.mark.slow
def test_sharing_saves_all_smaller_heads_and_the_allocator() -> None:
    """okay_nabu, vad and kws: tails stay apart, and the largest head is there, so that nothing lies lower."""
    report = application(2).report
    alone = [optimize(MODELS / f"{FILES[name]}.tflite").report.arena for name in ROWS[2].names]
    heads, tails = [one.head for one in alone], [one.tail for one in alone]
    assert (heads, sum(tails) - report.arena.tail) == ([160, 160, 4_240], 232)
    assert report.alone - report.arena.total == 552 == 160 + 160 + 232
    assert report.proven and report.arena.head == max(heads)


CLOCKED = {"clock": "180MHz", "core": "cortex-m4", "target": "cortex-m4"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("short", "side_by_side", "paused", "least"),
    [("kws", 34_500, 32_228, 31_387), ("okay_nabu", 32_948, 32_164, 32_150)],
)
def test_what_pauses_save_and_the_most_that_they_could(short: str, side_by_side: int, paused: int, least: int) -> None:
    models = {name: AppModel(MODELS / f"{FILES[name]}.tflite") for name in ("vww", short)}
    apart, report = (optimize(App(models, (("vww", short),), ms, options=CLOCKED)).report for ms in (None, 20.0))
    assert (apart.arena.total, report.arena.total) == (side_by_side, paused)
    assert report.lower_bound_head + report.arena.tail == least <= paused
    assert least > 0.9 * side_by_side
