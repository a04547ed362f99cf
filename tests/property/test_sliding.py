"""Sliding windows under the official TFLM wheel give the original's bytes for every window."""

from __future__ import annotations

import pytest
from conftest import seeds
from property.sliding import examine, network

from tflm_memopt.convert import pipeline
from tflm_memopt.model.reader import read
from tflm_memopt.rowgraph.sliding import with_sliding

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

FOUND = (116, 141)
"""Cases that the soak found: a rolling buffer with many readers, and a concatenated tensor of which no row is kept."""


@pytest.mark.slow
def test_every_window_gives_the_original_outputs() -> None:
    for seed in (*FOUND, *seeds(4)):
        examine(seed)


def test_most_of_them_slide() -> None:
    """Count the networks that save work by sliding, since other networks prove little."""
    saved = []
    for seed in range(0, 36, 3):
        model, rows = network(seed)
        annotated = pipeline.annotate(read(model).graph)
        saved.append(with_sliding(annotated, rows)[0].macs < 0.7 * annotated.macs)
    assert sum(saved) >= len(saved) / 2
