"""C modules of random networks: every port matches TFLM's. `make soak KIND=modules` runs many more."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest
from property.modules import examine

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

FIRST, MOST = 40, 80
"""Seeds."""
MODULES = 3
"""Minimum number of networks that become modules with the input in each place."""
PLACES = ("module, arena", "module, stream", "module, external")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc"),
]


def test_a_fixed_set_of_modules() -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + MOST):
        outcomes[examine(seed)] += 1
        if sum(outcomes[place] for place in PLACES) >= MODULES and all(outcomes[place] for place in PLACES):
            return
    raise AssertionError(f"too few modules: {outcomes}")
