"""Sliding windows under the official TFLM wheel give the original's bytes for every window."""

from __future__ import annotations

import pytest
from conftest import seeds
from property.sliding import examine

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

FOUND = (116, 141)
"""One rolling buffer has many readers, and one concatenated tensor keeps no row."""


@pytest.mark.slow
def test_every_window_gives_the_original_outputs() -> None:
    for seed in (*FOUND, *seeds(4)):
        examine(seed)
