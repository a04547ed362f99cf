"""Windows that slide, under the official TFLM wheel: the same bytes as the original on every window."""

from __future__ import annotations

import pytest
from conftest import seeds
from property.sliding import examine, network

from tflm_memopt.convert import pipeline
from tflm_memopt.model.reader import read
from tflm_memopt.rowgraph.sliding import with_sliding

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

FOUND = (116, 141)
"""Of the soak: a ring of many readers, and a joined tensor of which no row is kept."""


def test_every_window_gives_the_original_outputs() -> None:
    for seed in (*FOUND, *seeds(16)):
        examine(seed)


def test_most_of_them_slide() -> None:
    """By work that is saved: where nothing is, the others prove little."""
    saved = []
    for seed in range(0, 36, 3):
        model, rows = network(seed)
        annotated = pipeline.annotate(read(model).graph)
        saved.append(with_sliding(annotated, rows)[0].macs < 0.7 * annotated.macs)
    assert sum(saved) >= len(saved) / 2
