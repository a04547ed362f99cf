"""scripts/digests.py: the same source gives the same digests, and a change of one byte is seen."""

from __future__ import annotations

import functools
import json
import runpy
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import solving
from conftest import ROOT

SCRIPT = runpy.run_path(str(ROOT / "scripts/digests.py"))
CASES = [SCRIPT["Case"](f"network/{seed}", {"effort": "low", "target": "cortex-m4"}) for seed in range(3)]


@functools.cache
def converted() -> Any:
    return dict(map(SCRIPT["convert"], CASES))


def main(*arguments: str | Path) -> int:
    """The script on a few cases, in this process."""
    with mock.patch.dict(SCRIPT["main"].__globals__, cases=lambda _: CASES, digests=lambda *_: converted()):
        status: int = SCRIPT["main"]([str(a) for a in arguments])
    return status


@pytest.mark.slow
def test_two_runs_have_the_same_digests() -> None:
    once = converted()
    with solving.afresh():
        name, again = SCRIPT["convert"](CASES[0])
    assert once[name] == again


@pytest.mark.slow
def test_a_change_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "digests.json"
    assert main("record", file) == 0
    assert main("compare", file) == 0
    recorded = json.loads(file.read_text())
    assert set(recorded["digests"]["network/1 effort=low target=cortex-m4"]) > {"model", "plan", "report", "cpp", "c"}
    recorded["digests"]["network/1 effort=low target=cortex-m4"]["plan"] = "another"
    file.write_text(json.dumps(recorded))
    capsys.readouterr()
    assert main("compare", file) == 1
    assert capsys.readouterr().out.splitlines() == [
        "network/1 effort=low target=cortex-m4: plan",
        "1 of 3 cases differ",
    ]
    assert main("compare", file, "--parts", "model") == 0


@pytest.mark.slow
def test_other_versions_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "digests.json"
    main("record", file)
    recorded = json.loads(file.read_text())
    recorded["environment"]["ortools"] = "0"
    file.write_text(json.dumps(recorded))
    with pytest.raises(SystemExit):
        main("compare", file)


def test_names_of_cases_are_their_own() -> None:
    """A case whose name another one has would never be compared."""
    names = [case.name for case in SCRIPT["cases"](20)]
    assert len(names) == len(set(names))
