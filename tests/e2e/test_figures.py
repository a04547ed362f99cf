"""Figures in the prose of the documents: in a table of theirs, in a command's output, computed here, or from elsewhere.

Tables and outputs have tests of their own (test_benchmarks.py, test_docs.py), so that a sentence cannot keep a figure
that nothing else says any more. Figures are those of four digits and more, 1,234.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT

import tflm_memopt

WRITTEN = {"boards.md", "errors.md", "operators.md", "program-format.md"}
"""By scripts/reference.py and scripts/operators.py."""
RECORDS = {"trust.md", "distributions.md", "sources.md"}
"""What was run once: at a commit that it names, with a distribution, on the models of a source."""
PAGES = [ROOT / "README.md", *(p for p in sorted((ROOT / "docs").glob("*.md")) if p.name not in WRITTEN | RECORDS)]
FIGURE = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])")
TABLE = re.compile(r"<!-- ([\w-]+):begin(?: of \w+)? -->.*?<!-- \1:end -->", re.DOTALL)
FENCE = re.compile(r"^```(\w+)\n.*?^```$", re.DOTALL | re.MULTILINE)
OTHERS: Mapping[str, Mapping[str, str]] = {
    "arduino.md": {"115,200": "baud"},
    "bare-metal.md": {
        "11,928": "tests/cores", "1,044": "stack, measured by hand",
    },
    "benchmarks.md": {
        "24,576": "the thesis", "16,384": "the thesis",
        **dict.fromkeys(("6,564", "6,884"), "tests/unit/papers/test_paths.py"), "1,024": "256 indices of int32",
        "1,954,502": "benchmarks/speed.py", "264,192": "multiply-accumulates of ad",
        "18,092": "benchmarks/size.py --only", "10,864": "benchmarks/size.py --only",
    },
    "builtin.md": {"1,000": "steps"},
    "own-operator.md": {"18,948": "tests/tflm/test_own.py"},
    "tiling.md": {"1,024": "hidden values", "2,144": "benchmarks/papers/fused_tiling/tiling_tables.py --json"},
    "c-files.md": {"100,708": "measured on a Cortex-M4", "2,580": "measured on a Cortex-M4"},
    "endless-input.md": {
        **dict.fromkeys(("4,180", "46,040", "826,368"), "input.md says them, and a claim checks them"),
        **dict.fromkeys(("4,308", "79,516"), "tests/cores/test_costs.py"),
        **dict.fromkeys(("13,092", "1,488,128", "2,656,768"), "tests/tflm/test_sliding.py"),
        **dict.fromkeys(("28,442", "17,767", "4,004", "8,772"), "tests/cores/test_costs.py"),
        **dict.fromkeys(("61,570", "68,570", "17,044", "33,044"), "the same network, larger, by hand"),
        **dict.fromkeys(
            ("184,340", "554,129", "743,463", "1,069,616", "3,876", "16,788", "8,708", "32,788", "13,972"), "at aa21226"
        ),
        "3,808": "okay_nabu_arena_size", "26,080": "the published manifest", "1,000": "steps",
        "1,492": "tests/cores/test_size.py", "65,536": "16 bits",
    },
    "input.md": {
        **dict.fromkeys(("13,092", "19,200", "3,360", "9,504", "1,044"), "tests/tflm/test_sliding.py"),
        **dict.fromkeys(("13,028", "12,036", "5,060"), "optimize with the limits of the table, by hand"),
    },
    "models.md": {
        "1,000": "steps", **dict.fromkeys(("3,684", "3,152", "1,652", "1,120"), "tests/tflm/test_states.py"),
    },
    "cli.md": {
        "1,000": "a unit", "1,024": "a unit",
        **dict.fromkeys(("9,689", "1,584", "8,105", "5,638"), "keyword_scrambled, a model of TFLM's"),
    },
    "kernel-language.md": {
        **dict.fromkeys(
            ("10,749", "108,058", "11,522", "27,728", "29,288", "363,470", "394,309", "4,647", "4,672", "7,711",
              "8,074", "92,653"), "packed additions, against a5575aa"
        ),
    },
    "several-devices.md": {
        **dict.fromkeys(
            ("12,160", "12,208", "18,460", "18,512", "19,088", "20,066", "4,600", "4,868", "5,168"),
            "benchmarks/devices.py",
        ),
        **dict.fromkeys(
            ("1,229", "1,570", "1,580", "1,582", "3,632", "3,812", "4,660", "6,388", "9,907", "15,968", "16,640",
             "19,072", "22,080", "28,320", "49,107", "68,707", "81,823"),
            "tests/tflm/test_devices.py",
        ),
        **dict.fromkeys(
            ("4,259,662", "4,259,863", "4,259,487", "2,085,882", "2,125,773", "2,112,298", "5,656", "1,024", "154,564",
             "12,000", "2,920", "64,964", "9,312", "2,152,904", "2,072,049", "2,099,000", "197,508", "197,344",
             "602,113", "5,488", "2,800"),
            "benchmarks/papers/fused_tiling/split_networks.py",
        ),
        **dict.fromkeys(
            ("1,888", "1,992", "2,368", "2,472", "3,477", "3,770", "4,896", "4,955", "5,163", "5,496", "7,918",
             "8,232", "32,526", "32,560", "38,526", "42,630", "42,881", "65,052", "65,116", "73,782", "74,081",
             "81,852", "85,260", "85,761", "97,578", "97,671", "121,908", "122,335", "127,890", "128,641",
             "129,978", "130,359", "179,418", "179,906", "191,906", "213,853", "223,024", "226,596", "248,463",
             "273,994", "282,117", "324,271", "383,364", "383,812", "404,560", "407,826", "420,269", "427,705",
             "459,158", "502,945", "560,555", "575,718", "579,741", "606,591", "641,557", "709,844", "775,590",
             "776,956"),
            "benchmarks/papers/fused_tiling/partial_sums.py",
        ),
        "921,600": "baud",
        "1,000": "tests/cores/test_link.py", "303,120": "benchmarks/devices.py", "867,556": "benchmarks/devices.py",
    },
    "several-models.md": {
        **dict.fromkeys(
            ("138,684", "115,796", "36,748", "28,548", "32,788", "50,380", "9,916", "9,364",
             "12,348", "10,708", "1,640", "4,240", "5,584"), "tests/e2e/test_apps.py"
        ),
        **dict.fromkeys(("34,500", "34,236", "28,980", "32,948", "32,164"), "tests/tflm/test_apps.py"),
    },
    "order-and-layout.md": {
        **dict.fromkeys(("2,200", "2,952", "6,584"), "benchmarks/growth.py"),
        **dict.fromkeys(("12,836", "10,852", "1,924", "1,748", "4,036", "3,316", "17,332", "11,732", "10,520", "9,016"),
                        "tests/tflm/test_order.py"),
    },
    "two-cores.md": {"10,000": "make soak KIND=races, in trust.md"},
    "papers.md": {
        **dict.fromkeys(("24,576", "16,384", "6,564"), "tests/unit/papers/test_paths.py"),
        **dict.fromkeys(("51,466", "24,586", "19,712", "13,824", "13,034"), "test_papers.py"),
    },
    "papers-figures.md": {
        **dict.fromkeys(("24,576", "16,384"), "tests/unit/papers/test_paths.py"),
        **dict.fromkeys(("51,466", "24,586", "19,456", "19,712", "13,034"), "test_papers.py"),
    },
}  # fmt: skip
"""Page -> figure -> where it is from."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence whose figures are computed."""

    page: str
    said: str
    """Regular expression, a group for each figure; any space matches any other."""
    figures: Callable[[Outside], Sequence[int]]


Outside = Callable[[str], Path]


def dead_channels(outside: Outside) -> Sequence[int]:
    """Of all operators with weights."""
    operators = tflm_memopt.inspect(outside("mlperf_tiny_vww_96_int8.tflite")).operators
    return sum(op.channels for op in operators), sum(op.dead_channels for op in operators)


def balance(outside: Outside) -> Sequence[int]:
    report = tflm_memopt.optimize(outside("mlperf_tiny_ad_autoencoder_int8.tflite")).report
    assert report.balance is not None and report.balance.worthwhile
    return report.balance.ram_saved, report.original_arena.total, report.balance.flash_added, report.balance.tflm


def library(outside: Outside) -> Sequence[int]:
    """Estimated without the adapter, and linked."""
    report = tflm_memopt.optimize(outside("mlperf_tiny_kws_dscnn_int8.tflite"), int8_io=True, target="cortex-m4").report
    measured = json.loads((ROOT / "tflm_memopt/analysis/flash.json").read_text(encoding="utf-8"))
    linked = re.search(r"^\| mlperf_tiny_kws_dscnn_int8 \| m4 \| ([\d,]+) \|", text("benchmarks.md"), re.MULTILINE)
    assert report.balance is not None and linked is not None
    return report.balance.library - measured["tflm"]["adapter"], number(linked[1])


def window(outside: Outside) -> Sequence[int]:
    report = tflm_memopt.optimize(outside("str_ww_ref_model.tflite"), input="sliding").report
    return report.macs.rewritten, report.macs.original, report.arena.total, report.original_arena.total


N = r"([\d,]+)"
CLAIMS = (
    Claim("cli.md", rf"of the {N} of MLPerf Tiny's `vww_96`, {N} are dead", dead_channels),
    Claim("cli.md", rf"{N} of {N} B of RAM for {N} B of flash, of which .*?, gives back up to {N}\.", balance),
    Claim("input.md", rf"takes {N} multiply-accumulates .*? instead of {N}, and {N} B of arena instead of {N}", window),
    Claim("boards.md", rf"{N} B are said without the adapter for the {N} that a program with MLPerf Tiny's", library),
)


def number(figure: str) -> int:
    return int(figure.replace(",", ""))


def text(page: str) -> str:
    return next(p for p in (ROOT / "docs" / page, ROOT / page) if p.exists()).read_text(encoding="utf-8")


def pattern(claim: Claim) -> re.Pattern[str]:
    return re.compile(claim.said.replace(" ", r"\s+"))


def shown() -> set[str]:
    """Figures of tables and outputs, and of what is computed."""
    found: set[str] = set()
    for page in PAGES:
        whole = page.read_text(encoding="utf-8")
        for block in (*(m[0] for m in TABLE.finditer(whole)), *(m[0] for m in FENCE.finditer(whole))):
            found.update(FIGURE.findall(block))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_figures_of_prose_are_shown_somewhere(page: Path) -> None:
    prose = FENCE.sub("", TABLE.sub("", page.read_text(encoding="utf-8")))
    for claim in CLAIMS:
        prose = pattern(claim).sub("", prose)
    unknown = set(FIGURE.findall(prose)) - shown() - OTHERS.get(page.name, {}).keys()
    assert not unknown, f"{page.name} says {sorted(unknown)}, and no table or output does: see OTHERS, CLAIMS"


@pytest.mark.parametrize("page", OTHERS)
def test_figures_from_elsewhere_are_still_said(page: str) -> None:
    assert OTHERS[page].keys() <= set(FIGURE.findall(text(page)))


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: c.figures.__name__)
def test_figures_that_are_computed(claim: Claim, outside: Outside) -> None:
    found = pattern(claim).findall(text(claim.page))
    assert len(found) == 1
    assert tuple(map(number, found[0])) == tuple(claim.figures(outside))
