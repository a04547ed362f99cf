"""A detector with joined heads in fast and slow memory: the wheel, and separate host buffers under sanitizers."""

from __future__ import annotations

from pathlib import Path

import known
import numpy as np
import pytest
from compiling import run
from counted_traffic import counted
from kernels.conftest import SANITIZED, THREADS, compiled, sample
from models import Net

import tflm_memopt
from tflm_memopt.lower.traffic import BytesMoved
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import wheel
from tflm_memopt.runtime.regions import regions

FAST = 2_800
"""Fast memory of a detector that needs 3,432 B without slow memory. The detector's input is external."""


@pytest.fixture(scope="module")
def detector() -> tuple[bytes, tflm_memopt.Optimized]:
    data = known.heads(Net(3))
    return data, tflm_memopt.optimize(data, input="external", effort=0.1, memory={"fast": FAST, "slow": 1 << 20})


@pytest.mark.slow
def test_the_wheel(detector: tuple[bytes, tflm_memopt.Optimized]) -> None:
    data, made = detector
    memories = made.report.memories
    assert memories and memories.slow > 0 and memories.fast <= FAST and made.report.overhead <= 1
    assert counted(read(made.model)) == BytesMoved(memories.slow_read, memories.slow_written, memories.weights_read)
    wheel.provide_memory(memories.slow)
    found = tflm_memopt.verify(data, made.model, runs=3)
    assert found.bit_exact, found


@pytest.mark.slow
def test_separate_buffers_under_sanitizers(detector: tuple[bytes, tflm_memopt.Optimized], tmp_path: Path) -> None:
    """fuzz.c runs the undamaged program first: in buffers without spare bytes, it must give TFLM's outputs."""
    data, made = detector
    tflm, values = (
        wheel.interpreter(data, 1 << 20),
        np.random.default_rng(1).integers(-128, 128, (1, 64, 64, 3), np.int8),
    )
    tflm.set_input(values, 0)
    assert tflm.invoke() == 0
    (region,) = regions(read(made.model))
    names = [read(made.model).graph.outputs.index(t) for t in region.outputs]
    path = tmp_path / "detector.bin"
    path.write_bytes(sample(region.program, [values], [tflm.get_output(k) for k in names]))
    program = compiled(SANITIZED, "fuzz.c", tmp_path / "fuzz", THREADS)
    run(program, "1", "100", path)
