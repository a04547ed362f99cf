"""Figures of docs/several-models.md, on public models: what an application of them takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

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
    target: str = "generic"


ROWS = (
    Row(("str_ww", "kws", "vww"), (), 138_684, 36_748, 28_548, 28_780),
    Row(("str_ww", "kws", "vww"), (("str_ww", "vww"), ("kws", "vww")), 138_684, 36_748, 32_788, 33_020),
    Row(("okay_nabu", "vad", "kws"), (("okay_nabu", "vad"),), 50_380, 9_916, 9_364, 11_000),
    Row(("okay_nabu", "vad", "kws"), (("okay_nabu", "vad"),), 50_380, 12_348, 10_708, 11_000, "cortex-m4"),
)


@cache
def application(row: int, outside: Callable[[str], Path]) -> AppOptimized:
    names, groups, options = ROWS[row].names, ROWS[row].concurrent, {"target": ROWS[row].target}
    models = {name: AppModel(outside(f"{FILES[name]}.tflite")) for name in names}
    return optimize(App(models, groups, options=options))


@pytest.mark.slow
@pytest.mark.parametrize("row", range(len(ROWS)))
def test_what_several_models_take(row: int, outside: Callable[[str], Path]) -> None:
    report, said = application(row, outside).report, ROWS[row]
    assert report.apart == said.apart
    assert report.alone == said.alone
    assert report.arena.total == said.together <= said.limit
    assert row or report.shared == 115_796


@pytest.mark.slow
@pytest.mark.parametrize(("row", "heads", "saved"), [(2, [160, 160, 4_240], 552), (3, [848, 560, 5_584], 1_640)])
def test_sharing_saves_all_smaller_heads_and_the_allocator(
    row: int, heads: list[int], saved: int, outside: Callable[[str], Path]
) -> None:
    """okay_nabu, vad and kws: tails stay apart, and the largest head is there, so that nothing lies lower."""
    report, target = application(row, outside).report, ROWS[row].target
    alone = [optimize(outside(f"{FILES[name]}.tflite"), target=target).report.arena for name in ROWS[row].names]
    assert [one.head for one in alone] == heads
    assert sum(one.tail for one in alone) - report.arena.tail == 232
    assert report.alone - report.arena.total == saved == sum(heads) - max(heads) + 232
    assert report.proven and report.arena.head == max(heads)
