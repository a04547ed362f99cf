"""Files that are not part of the repository: tests get them from one fixture, which skips where they are absent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import OUTSIDE_MISSING, ROOT


def test_an_absent_file_skips_the_test_and_is_named(outside: Callable[[str], Path]) -> None:
    with pytest.raises(pytest.skip.Exception, match=f"{OUTSIDE_MISSING} no/such.tflite"):
        outside("no/such.tflite")


def test_tests_know_no_other_way_to_such_files() -> None:
    """A path of its own would fail in a clone that has nothing beside it, which CI has not."""
    folder = "/".join(("..", "shared"))
    sources = {path.relative_to(ROOT): path.read_text() for path in (ROOT / "tests").rglob("*.py")}
    assert [path.name for path, text in sources.items() if folder in text] == ["conftest.py"]
