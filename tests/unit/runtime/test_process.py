"""Test the errors that the package raises for TFLM's messages and for the end of a worker process."""

import os
from pathlib import Path

import numpy as np
import pytest
from tflm.region_model import IN, region_model

from tflm_memopt.runtime import feeds, process, worker
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


def test_an_inference_that_does_not_end_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forever(*_: object) -> object:
        while True:
            pass

    (tmp_path / worker.MODEL).write_bytes(region_model())
    worker.save(tmp_path / worker.INPUTS, [np.zeros((1, *IN), np.int8)])
    monkeypatch.setattr(worker, "MOST_SECONDS", 0.2)
    monkeypatch.setattr(feeds, "feeder", lambda *_: forever)
    assert process.failure(worker.fork(tmp_path, 1, 1, "", [], 1), "") == "did not end in TFLM within 0.2 s"


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
