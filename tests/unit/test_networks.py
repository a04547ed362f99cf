"""Test examples/networks: small files, reproducible samples, and a script that reproduces the networks."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import NETWORKS, WAKE_WORD, WINDOW

from tflm_memopt.model.reader import read


def operators(path: Path) -> list[list[str]]:
    return [[op.type for op in graph.ops] for graph in read(path.read_bytes()).graphs]


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


@pytest.mark.slow
def test_the_training_script_makes_the_same_networks(tmp_path: Path) -> None:
    """The wake word, which the script writes as a window and as a stateful streaming model."""
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("TensorFlow is not installed: pip install -e '.[train]'")
    arguments = ["--only", WINDOW.stem, "--samples", "60", "--epochs", "1", "--tests", "6", "-o", str(tmp_path)]
    command = [sys.executable, NETWORKS / "train_networks.py", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{WINDOW.stem}: " in done.stdout
    for path in (WINDOW, WAKE_WORD):
        assert operators(tmp_path / path.name) == operators(path)
