"""State survives an interpreter that is allocated later on the same MicroAllocator, in TFLM of autumn 2023.

The later AllocateTensors() overwrites the head. State is in the tail, so the first model continues as if it were alone.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import memories
import numpy as np
import pytest
import streaming
from adapter import linked
from conftest import ROOT

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.process import run_model

TFLM = runpy.run_path(str(ROOT / "scripts/tflm2023.py"))
MISSING = TFLM["missing"]() or ("" if shutil.which("g++") else "g++ is missing: apt-get install g++")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=MISSING)]
BEFORE, RUNS, ARENA = 40, 100, 1 << 16


@pytest.fixture(scope="session")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return linked(Path(__file__).with_name("late_main.cpp"), TFLM["AUTUMN"], tmp_path_factory.mktemp("late"))


@pytest.mark.parametrize(
    ("first", "second"),
    [(streaming.mixed, memories.lstm_network), (memories.lstm_network, memories.svdf_network)],
    ids=["rolling_buffers", "cells"],
)
def test_a_model_goes_on_beside_one_that_comes_later(
    late: Path, first: Callable[[], bytes], second: Callable[[], bytes], tmp_path: Path
) -> None:
    rng, expected, command = np.random.default_rng(5), [], [str(late), str(ARENA), str(BEFORE)]
    for number, build in enumerate((first, second)):
        data = build()
        graph = read(data).graph
        inputs = rng.integers(-128, 128, (RUNS, *graph.tensors[graph.inputs[0]].shape), dtype=np.int8)
        alone = run_model(data, [inputs], RUNS, 1)
        assert not alone.failure
        expected.append(alone.outputs[0].tobytes())
        names = [f"{number}.tflite", f"{number}.in", f"{number}.out"]
        (tmp_path / names[0]).write_bytes(tflm_memopt.optimize(data, seconds=0).model)
        (tmp_path / names[1]).write_bytes(inputs.tobytes())
        command += names
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [(tmp_path / f"{number}.out").read_bytes() for number in range(2)] == expected
