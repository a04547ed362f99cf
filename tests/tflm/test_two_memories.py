"""A detector with joined heads in fast and slow memory. kernels/test_fuzz.py runs it in separate buffers."""

from __future__ import annotations

import known
import pytest
from conftest import QUICKLY
from counted_traffic import counted
from models import Net

import tflm_memopt
from tflm_memopt.lower.traffic import BytesMoved
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import wheel

FAST = 2_800
"""Fast memory of a detector that needs 3,432 B without slow memory. The detector's input is external."""


@pytest.mark.slow
def test_the_wheel() -> None:
    data = known.heads(Net(3))
    made = tflm_memopt.optimize(data, input="external", effort=QUICKLY, memory={"fast": FAST, "slow": 1 << 20})
    memories = made.report.memories
    assert memories and memories.slow > 0 and memories.fast <= FAST and made.report.overhead <= 1
    assert counted(read(made.model)) == BytesMoved(memories.slow_read, memories.slow_written, memories.weights_read)
    wheel.provide_memory(memories.slow)
    found = tflm_memopt.verify(data, made.model, runs=3)
    assert found.bit_exact, found
