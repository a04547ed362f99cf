"""Test the HTML report: every figure of the JSON, no network access, and escaped names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from models import Net

import tflm_memopt
from tflm_memopt.analysis.timing import Clock, Inference, Time, time_of
from tflm_memopt.emit import bundle
from tflm_memopt.report import html, summary
from tflm_memopt.results import InterfaceReport, KeptBuiltin, Optimized


class Page(HTMLParser):
    """Visible text and elements of the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def numbers(document: Any) -> Iterator[float]:
    """Yield all numbers of a JSON document."""
    if isinstance(document, dict):
        document = list(document.values())
    if isinstance(document, list):
        for item in document:
            yield from numbers(item)
    elif isinstance(document, (int, float)) and not isinstance(document, bool):
        yield document


def missing(document: Any, text: str) -> list[float]:
    """Numbers that are not in the text, with the text's rounding."""
    shown = {token.replace(",", "") for token in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}
    rounded = {(float(token), len(token.partition(".")[2])) for token in shown if "." in token}
    return [
        n
        for n in set(numbers(document))
        if f"{n:g}".lstrip("-") not in shown
        and str(n).lstrip("-") not in shown
        and not any(round(n, digits) == value for value, digits in rounded)
    ]


@pytest.fixture(scope="module")
def result() -> Optimized:
    net = Net(3)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2))
    model = net.model(net.conv2d(net.mean(net.depthwise_conv2d(x), (1, 2)), 4))
    return tflm_memopt.optimize(model, name="small.tflite", frontier=True, max_macs=1.5, ram_limit=50_000)


def test_every_figure_is_on_the_page(result: Optimized) -> None:
    page = Page(html.optimized(result))
    assert result.frontier
    for document in (result.report.to_json(), result.inspection.to_json(), result.frontier.to_json()):
        assert missing(json.loads(json.dumps(document)), page.text) == []


def test_a_figure_that_is_not_there_is_missed() -> None:
    assert missing({"a": [1234, 5.678]}, "1,234 and 5.68") == []
    assert missing({"a": [1234, 5.678]}, "1,235 and 5.67") == [1234, 5.678]


def test_the_inspections_page(result: Optimized) -> None:
    page = Page(html.inspection(result.inspection))
    assert missing(json.loads(json.dumps(result.inspection.to_json())), page.text) == []
    assert "as it is" in page.text


def test_everything_can_be_saved(result: Optimized) -> None:
    page = html.optimized(result)
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    saved = json.loads(data)
    assert result.plan
    assert saved["report"] == json.loads(json.dumps(result.report.to_json()))
    assert saved["plan"] == json.loads(json.dumps(result.plan.to_json()))
    assert saved.keys() == {"report", "inspection", "memory", "plan", "frontier"}
    tables = [attrs["data-name"] for tag, attrs in Page(page).tags if tag == "table"]
    assert len(tables) == len(set(tables)) == page.count('<button class="csv">')


def test_names_that_converters_joined_are_short_and_whole_on_demand(result: Optimized) -> None:
    joined = "sequential/re_lu/Relu;sequential/batch_normalization/FusedBatchNormV3"
    original = result.inspection
    tensors = tuple(replace(t, name=joined) for t in original.tensors)
    page = html.inspection(replace(original, tensors=tensors))
    assert f'<span>re_lu/Relu</span><span class="whole">{joined}</span>' in page
    assert page.count(joined) == 2 * len(tensors), "in the table, and in the JSON"


def test_nothing_comes_from_elsewhere(result: Optimized) -> None:
    tags = Page(html.optimized(result)).tags
    addresses = [v for _, attrs in tags for k, v in attrs.items() if k in ("src", "href", "srcset", "data") and v]
    assert addresses
    assert all(a.startswith(("#", "data:,")) for a in addresses)
    assert "@import" not in html.optimized(result)
    assert "url(http" not in html.optimized(result)


def test_hostile_names_are_only_text(result: Optimized) -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    original = result.inspection
    tensors = tuple(replace(t, name=evil) for t in original.tensors)
    report = replace(
        result.report, model=evil, kept_builtin=(KeptBuiltin(0, evil, "x", evil, evil),),
        interface=(InterfaceReport("input", evil, evil, evil),), interface_kept=(evil,),
    )  # fmt: skip
    page = html.optimized(replace(result, report=report, inspection=replace(original, model=evil, tensors=tensors)))
    parsed = Page(page)
    assert not [tag for tag, _ in parsed.tags if tag == "img"]
    assert len([tag for tag, _ in parsed.tags if tag == "script"]) == 2
    assert evil in parsed.text


def test_a_model_that_stays(result: Optimized) -> None:
    report = replace(result.report, changed=False, why_unchanged="no less arena", blocks=())
    page = Page(
        html.optimized(replace(result, report=report, memory=result.inspection.memory, plan=None, frontier=None))
    )
    assert "unchanged, no less arena" in page.text
    assert "Rewritten:" not in page.text
    assert [tag for tag, _ in page.tags if tag == "s"] == [], "nothing became another figure"


def test_time_in_milliseconds_where_it_is_known(result: Optimized) -> None:
    clock = Clock("cortex-m4", 64.0, "nano33ble")
    timed = replace(
        result.report, time=time_of(clock, "cortex-m4", 8_000_000, 4_000_000, (4.8e6, 6.4e6)), time_limit=123.4
    )
    page = Page(html.optimized(replace(result, report=timed)))
    assert "75 to 100 ms" in page.text
    assert "nano33ble at 64 MHz, estimated; original with CMSIS-NN" in page.text
    assert missing(json.loads(json.dumps(timed.to_json())), page.text) == []
    both = Inference(8_000_000, (100.0, 200.0)), Inference(4_000_000, (112.0, 248.0))
    slower = replace(result.report, time=Time("cortex-m4", "nano33ble", 64.0, (1.5, 3.1), *both))
    page = Page(html.optimized(replace(result, report=slower)))
    assert "rewritten, slower: +12 to +24 % time" in page.text
    assert "+12 to +24 %" in page.text.split("nano33ble at 64 MHz")[0].rsplit("Time", 1)[-1]
    unknown = replace(result.report, time=time_of(Clock("Xtensa LX6", 240.0, "esp32"), "x", None, None))
    assert "the cycles per instruction are unknown there" in Page(html.optimized(replace(result, report=unknown))).text


def test_all_flash_is_counted(result: Optimized) -> None:
    both = result.report.footprint
    assert both
    assert both.original.model == result.report.flash.original
    assert both.rewritten.model == len(result.model)
    assert both.original.library == 0 < both.rewritten.library
    text = Page(html.optimized(result)).text
    assert all(f"{flash.total:,}" in text for flash in (both.original, both.rewritten))


def test_what_to_paste_and_to_do_next(result: Optimized) -> None:
    page = html.optimized(result, Path("my models/small.tflite"), Path("out"))
    assert "tflm-memopt verify &#39;my models/small.tflite&#39; out/small.tflite" in page
    assert "So far, only the plan was checked" in page
    header = bundle.files(result, "small")["small_ops.h"].decode()
    (constant,) = re.findall(r"^constexpr size_t small_arena_size = \d+;$", header, re.MULTILINE)
    assert constant in page
    unchanged = replace(result.report, changed=False, why_unchanged="no less arena", blocks=())
    assert "verify" not in html.optimized(replace(result, report=unchanged)).split("<main>")[0]


def test_the_head_and_what_is_least(result: Optimized) -> None:
    report = replace(result.report, lower_bound_head=16_520, arena=replace(result.report.arena, head=16_528))
    said = "at least 16,520 B; no layout of these blocks is lower"
    assert summary.head(replace(report, proven=True)) == f"{said}: addresses are multiples of 16"
    assert summary.head(replace(report, proven=True, lower_bound_head=16_528)) == said.replace("20", "28")
    assert summary.head(replace(report, proven=True, lower_bound_head=16_000)) == said.replace("520", "000")
    assert "may exist" in summary.head(replace(report, proven=False))
