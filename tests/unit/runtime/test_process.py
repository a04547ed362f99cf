"""Test the errors that the package raises for TFLM's messages and for the end of a worker process."""

import os

import numpy as np
import pytest
from tflm.region_model import IN, region_model

from tflm_memopt.runtime import process
from tflm_memopt.runtime.process import run_model


@pytest.mark.parametrize("model", [b"", b"not a model at all, but long enough to be read as one" * 4])
def test_garbage_ends_the_worker_and_not_the_caller(model: bytes) -> None:
    outcome = run_model(model, [np.zeros((1, 1), np.int8)], 1, 1)
    assert outcome.failure != ""
    assert outcome.arena is None


def run_well() -> None:
    outcome = run_model(region_model(), [np.zeros((1, *IN), np.int8)], 1, 1)
    assert outcome.failure == ""
    assert outcome.arena is not None


def idle() -> list[int]:
    return [worker.pid for worker in process._idle[os.getpid()]]


def test_a_worker_stays_for_the_next_model_and_a_crash_does_not_end_it() -> None:
    run_well()
    before = idle()
    far = 1 << 26
    crash = region_model(workspace=far, offsets=(16, 64, 16 - far))
    assert run_model(crash, [np.zeros((1, *IN), np.int8)], 1, 1).failure.startswith("crashed in TFLM (SIGSEGV)")
    run_well()
    assert idle() == before


@pytest.mark.slow
def test_a_fork_has_workers_of_its_own() -> None:
    run_well()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run_well()
            process._end_all()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    run_well()
