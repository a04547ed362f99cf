"""Reproduce the figures that the papers print with the package's own solvers (benchmarks/papers)."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from papers import lifetimes
from papers.fused_tiling import devices, tiling_tables
from papers.items import ITEMS
from papers.joint_memory import joint
from tables import between


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return joint.example()


# ---- the page ----


def test_the_page_has_a_row_for_each_item() -> None:
    rows = between((ROOT / "docs/papers.md").read_text(), "papers")[0].splitlines()[2:]
    assert [row.split(" | ")[:3] for row in rows] == [[f"| {i.paper}", i.what, i.kind] for i in ITEMS]


# ---- joint memory of several CNNs ----


def test_buffers_reused_by_algorithm_8(example: dict[str, Any]) -> None:
    assert example["reused"]["tokens"] == 24_586
    assert [edges for edges, _ in example["reused"]["buffers"]] == [
        ["e12_1", "e34_1", "e12_2"], ["e23_1", "e45_1", "e23_2(1)"], ["e24_1", "e23_2(2)"], ["e34_2"],
    ]  # fmt: skip


def test_buffers_of_layers_by_parts(example: dict[str, Any]) -> None:
    found = example["by parts"]
    assert found["chromosome"] == "001110000"
    assert found["phases"] == [1, 1, 32, 32, 32, 1, 1, 1, 1]
    assert found["tokens"] == 19_712
    assert found["buffers"] == [
        (["e12_1", "e34_1", "e12_2"], 3072), (["e23_1", "e23_2(1)"], 8192), (["e24_1", "e23_2(2)"], 8192),
        (["e45_1", "e34_2"], 256),
    ]  # fmt: skip


def test_offsets_on_the_same_schedules(example: dict[str, Any]) -> None:
    """The result does not depend on e34, which the text omits, as long as e34 + e45 is at most 3,072."""
    assert example["offsets"] == (24_576, True)
    assert example["offsets by parts"] == (19_456, True)
    assert example["offsets by parts, by size of e34"] == {256: 19_456, 768: 19_456, 2816: 19_456, 3072: 19_712}


def test_the_best_of_all_chromosomes(example: dict[str, Any]) -> None:
    assert example["search"]["of"] == 512
    assert example["search"]["tokens"] == 13_824
    assert example["its offsets"] == (13_034, True)
    assert (example["search by offsets"]["tokens"], example["search by offsets"]["proven"]) == (13_034, True)


@pytest.mark.slow
@pytest.mark.parametrize("number", joint.APPLICATIONS)
def test_applications_are_reduced_by_more_than_in_table_6_6(number: int) -> None:
    """The reduction is far larger, with little search."""
    found = joint.application(number, effort=0.1)
    assert found["paper's reduction"] == {1: 3.9, 2: 5.9, 3: 3.9, 4: 5.2, 5: 2.3, 6: 4.0}[number]
    assert found["reduction"] > 2 * found["paper's reduction"]
    assert found["MB"] <= found["paper's MB"] == {1: 14.90, 2: 27.30, 3: 15.92, 4: 31.34, 5: 162, 6: 155}[number]


def test_lifetimes_that_meet_are_kept_apart() -> None:
    """Greedy placement takes 10 on Figure 4.8 of the thesis on fused tiling."""
    assert lifetimes.layout([5, 3, 2, 4], [(0, 1), (1, 2), (2, 3)]).top == 8


# ---- inference on several devices ----


def test_the_example_of_four_layers() -> None:
    found = devices.example()
    assert (found["F on one"], found["F on two"]) == (240, 120)
    assert found["pipeline of two"] == {"F": [160, 80], "C": 16}
    assert found["C on two"] == {"FDTO": 34, "FDTI": 48, "FDT twice": 40, "OWP": 22}
    assert found["least"]["C"] == 22
    assert found["least"]["plans"] == ["FDTO FDT1 FDT2 FDTO", "FDTO FDT1 FDT2 FDTI"]
    assert found["least"]["by the program"] in found["least"]["plans"]
    assert found["least"]["runner-up"] == 28
    assert found["least on N"] == {2: "22", 3: "128/3", 4: "63", 6: "310/3"}
    assert found["bytes of OWP, by bytes of a partial sum"] == {4: 34, 3: 30, 2: 26}


@pytest.mark.parametrize(
    ("name", "single", "full", "sequential", "first"),
    [
        ("YOLOv2", 255.5, 28.42, 51.76, 13),
        ("AlexNet", 16.8, 2.650, 5.828, 3),
        ("VGG-16", 84.5, 13.242, 25.84, 8),
        ("GoogLeNet", 97.5, 12.208, 20.08, 5),
    ],
)
def test_table_5_1(name: str, single: float, full: float, sequential: float, first: int) -> None:
    found, thesis = devices.table(name), devices.NETWORKS[name]
    assert found["single"] == pytest.approx(single, abs=0.05)
    assert found["full"] == pytest.approx(full, abs=0.005)
    assert found["sequential"] == pytest.approx(sequential, abs=0.005)
    assert found["first"] == thesis.first == first
    assert found["layers"] == {"YOLOv2": 32, "AlexNet": 14, "VGG-16": 25, "GoogLeNet": 27}[name]
    for value, printed in zip((found["single"], found["full"], found["sequential"]), found["thesis"], strict=True):
        assert value == pytest.approx(printed, rel=0.0035)


# ---- fused tiling's tables, on networks of the same kinds ----


@pytest.fixture(scope="module", params=["TXT", "MW", "CIF", "RAD"])
def tiled(request: pytest.FixtureRequest) -> tiling_tables.Network:
    return tiling_tables.network(request.param, tiling_tables.NETWORKS[request.param]())


@pytest.mark.slow
def test_every_way_gives_the_same_bytes_in_less(tiled: tiling_tables.Network) -> None:
    ways = tiled.ways
    assert all(result.same_bytes for result in ways.values())
    assert ways["both"].total <= min(ways["FFMT"].total, ways["FDT"].total) <= ways["offsets"].total <= tiled.total
    assert ways["operator"].total < ways["both"].total
    assert not any("channel groups" in part for part in ways["FFMT"].parts)
    assert not any("stripes" in part for part in ways["FDT"].parts)
    assert ways["FDT"].overhead <= 1 and ways["fast"].overhead <= tiling_tables.FAST
