"""Test benchmarks/papers/msf_cnn on a small network of the same kind: the frontier and the ablation."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from papers.msf_cnn import ablation, frontier


def layer(kind: str, size: int, cin: int, cout: int, k: int = 1, s: int = 1) -> dict[str, Any]:
    out = -(-size // s)
    shape = {"h": size, "w": size, "cin": cin, "ho": out, "wo": out, "cout": cout}
    return {"name": kind, "type": kind, "k": [k, k], "s": [s, s], "p": [k // 2, k // 2], **shape}


LAYERS = [
    layer("conv", 16, 3, 8, k=3, s=2), layer("pw", 8, 8, 24), layer("dw", 8, 24, 24, k=3), layer("pw", 8, 24, 8),
]  # fmt: skip


@pytest.fixture
def nets(tmp_path: Path) -> Path:
    (tmp_path / "tiny_chain.json").write_text(json.dumps(LAYERS))
    return tmp_path


def test_the_formulas_by_hand() -> None:
    assert frontier.single(LAYERS, 1) == (64 * 8 + 64 * 24, 64 * 24 * 8)
    # depthwise and project: tiles of 3 and 1 rows; caches 3*3*24 + 1*1*24; the final output is not counted
    assert frontier.group(LAYERS, 2, 4) == (64 * 24 + 216 + 24, 64 * 24 * 9 + 64 * 24 * 8)
    # expand, depthwise, project: expand's tiles have 3 rows, 6 of them in a map of 8 without padding
    fused = frontier.group(LAYERS, 1, 4)
    assert fused is not None
    assert fused.macs == 6 * 8 * (3 * 24) * 8 + 64 * 24 * 9 + 64 * 24 * 8


def test_ablation(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ablation.main(["--nets", str(nets), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    everything = rows["everything"]["tiny_chain"]
    assert rows["+ groups"]["tiny_chain"] == everything
    assert {f"without {name}" for name in ablation.OFF} <= set(rows)
    assert all(row["tiny_chain"] is None or row["tiny_chain"] >= everything for row in rows.values())


@pytest.mark.parametrize("name", frontier.PUBLISHED)
def test_table_1_again(name: str, outside: Callable[[str], Path]) -> None:
    rows = frontier.table1(json.loads(outside(f"paper_nets/{name}.json").read_text()))
    for row, known in frontier.PUBLISHED[name].items():
        found = rows[row]
        if known is None:
            assert found is None
        else:
            assert found is not None
            assert found[0] == pytest.approx(1000 * known[0], rel=0.014)
            assert found[1] == pytest.approx(known[1], abs=0.0075)
