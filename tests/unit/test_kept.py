"""What tests keep for each other."""

from __future__ import annotations

import os
from pathlib import Path

import kept
import pytest


def test_what_nobody_asks_for_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "FOLDER", tmp_path)
    kept.folder.cache_clear()
    for name in ("asked.answer", "unasked.answer"):
        kept.keep(name, b"42")
        os.utime(tmp_path / name, (0, 0))
    assert kept.find("asked.answer") == b"42"
    kept.folder.cache_clear()
    assert (kept.find("asked.answer"), kept.find("unasked.answer")) == (b"42", None)
    kept.folder.cache_clear()
