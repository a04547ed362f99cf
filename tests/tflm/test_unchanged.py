"""A model that is read and written unchanged has the same outputs and arena in TFLM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tflm_memopt.model import writer
from tflm_memopt.model.graph import zeros_like
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.process import run_model

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

RUNS = 3


def test_same_outputs_from_the_same_arena(own_model: Path) -> None:
    data = own_model.read_bytes()
    model = read(data)
    rng = np.random.default_rng(1)
    inputs = []
    for t in model.graph.inputs:
        blank = zeros_like(model.graph.tensors[t])
        draw = (
            rng.normal(0, 1, (RUNS, *blank.shape))
            if blank.dtype.kind == "f"
            else rng.integers(-128, 128, (RUNS, *blank.shape))
        )
        inputs.append(draw.astype(blank.dtype))
    expected, got = (run_model(m, inputs, RUNS, len(model.graph.outputs)) for m in (data, writer.write(model.tree)))
    assert not expected.failure
    assert expected.arena is not None
    assert got.arena == expected.arena
    assert all(a.tobytes() == b.tobytes() for a, b in zip(expected.outputs, got.outputs, strict=True))
