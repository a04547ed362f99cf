"""C modules of random networks have the same output bytes as in TFLM."""

import shutil

import pytest
from property.modules import examine

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

SEEDS = (40, 46, 57)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")]


def test_a_fixed_set_of_modules() -> None:
    assert {examine(seed) for seed in SEEDS} == {"module, arena", "module, stream", "module, external"}
