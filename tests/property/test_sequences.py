"""Stateful networks under the official TFLM wheel give the original's bytes in every step of a sequence."""

from __future__ import annotations

import pytest
from conftest import seeds
from property.sequences import examine

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")


@pytest.mark.slow
def test_every_step_gives_the_original_outputs() -> None:
    for seed in seeds(8):
        examine(seed)
