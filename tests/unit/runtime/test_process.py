"""What the caller of a worker makes of its end and of TFLM's words."""

from __future__ import annotations

import numpy as np
import pytest

from tflm_memopt.runtime import process, worker
from tflm_memopt.runtime.process import Arena, run_model

LOG = f"""noise
{worker.ATTEMPT} 65536 B
Failed to resize buffer. Requested: 70000, available 60000, missing: 10000
{worker.ATTEMPT} 131072 B
TMO_REGION: the program is truncated: copy the whole model
Node TMO_REGION (number 0) failed to prepare with status 1
"""


def test_a_failure_tells_the_last_attempt_only() -> None:
    assert process._failure(1, LOG) == (
        "failed: TMO_REGION: the program is truncated: copy the whole model; "
        "Node TMO_REGION (number 0) failed to prepare with status 1"
    )


def test_a_signal_has_a_name() -> None:
    assert process._failure(-11, "") == "crashed with SIGSEGV"


def test_arena_figures_are_those_of_print_allocations() -> None:
    log = "".join(
        f"[RecordingMicroAllocator] Arena allocation {k} {v} bytes\n"
        for k, v in (("total", 9), ("head", 5), ("tail", 4))
    )
    assert process._arena(log) == Arena(head=5, tail=4, total=9)


def test_arenas_begin_with_the_models_size_and_end() -> None:
    sizes = list(worker.arenas(300_000))
    assert sizes[0] == 1 << 19
    assert sizes[-1] == worker.LARGEST_ARENA
    assert list(worker.arenas(1 << 40)) == [worker.LARGEST_ARENA]


@pytest.mark.parametrize("model", [b"", b"not a model at all, but long enough to be read as one" * 4])
def test_garbage_ends_the_worker_and_not_the_caller(model: bytes) -> None:
    outcome = run_model(model, [np.zeros((1, 1), np.int8)], 1, 1)
    assert outcome.failure != ""
    assert outcome.arena is None
