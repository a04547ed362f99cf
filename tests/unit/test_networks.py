"""Test examples/networks: small files, reproducible samples, and a script that reproduces the networks."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest
from conftest import NETWORKS


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("keywords", (49, 10, 1)),
        ("wake_words", (30, 1, 40)),
        ("textures", (30, 30, 3)),
        ("figures", (96, 96, 3)),
        ("machine_sounds", (256,)),
    ],
)
def test_samples_are_repeatable(name: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(NETWORKS))
    synthetic = importlib.import_module("synthetic")
    size = (30,) if name in ("wake_words", "textures") else ()
    samples, labels = getattr(synthetic, name)(24, 7, *size)
    again, _ = getattr(synthetic, name)(24, 7, *size)
    other, _ = getattr(synthetic, name)(24, 8, *size)
    assert samples.shape == (24, *shape) and samples.dtype == np.float32
    assert len(set(labels)) > 1
    assert np.array_equal(samples, again) and not np.array_equal(samples, other)
    sys.modules.pop("synthetic")
