"""docs/operators.md says what the operator set says."""

from __future__ import annotations

import runpy

from conftest import ROOT

from tflm_memopt.ops.opset import OPSET

SCRIPT = runpy.run_path(str(ROOT / "scripts/operators.py"))


def test_the_page_is_up_to_date() -> None:
    assert SCRIPT["PAGE"].read_text(encoding="utf-8") == SCRIPT["page"](), "run python scripts/operators.py"


def test_every_operator_has_a_line() -> None:
    page = SCRIPT["site_page"]()
    assert all(f"\n| {name} | " in page for name in OPSET)
