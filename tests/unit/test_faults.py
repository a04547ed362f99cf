"""Every fault in tests/faults replaces a text that occurs once in its file."""

import runpy

from conftest import ROOT

SCRIPT = runpy.run_path(str(ROOT / "scripts/faults.py"))


def test_every_fault_can_be_planted() -> None:
    faults = SCRIPT["registry"]()
    assert len(faults) >= 60
    assert [wrong for fault in faults if (wrong := SCRIPT["stale"](fault))] == []
