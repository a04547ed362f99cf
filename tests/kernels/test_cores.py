"""Two cores as two threads: the same bytes whatever the delays, no race that ThreadSanitizer sees, no bad program."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import EXAMPLE, MODELS, examples, on_two_cores, thinned
from cores.cases import Case, blob, model_cases
from kernels.conftest import LIBRARY, WATCHED, compiled

import tflm_memopt
from tflm_memopt.errors import UsageError
from tflm_memopt.lower.program import Program, ProgramCores
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.plan.plan import How
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import Status

TARGETS = ("cortex-m33", "generic")
RACE_RUNS = 500
TSAN_FOUND = 66
"""ThreadSanitizer's exit code."""


@functools.cache
def cases(path: Path = EXAMPLE, target: str = "cortex-m33") -> list[Case]:
    return model_cases(on_two_cores(path, target).model)


def racing() -> list[Case]:
    """The programs of kws or, where the public models are not, of the example."""
    kws = MODELS / "mlperf_tiny_kws_dscnn_int8.tflite"
    return cases(kws if kws.exists() else EXAMPLE)


def runs_right(case: Case, seed: int) -> bool:
    got = host.run_shared(case.program, case.arena, case.inputs, [e.nbytes for e in case.expected], seed)
    return all((a == b.ravel().view(np.int8)).all() for a, b in zip(got, case.expected, strict=True))


@pytest.mark.parametrize("target", thinned(TARGETS, 1))
def test_two_threads_give_the_bytes_of_one(target: str) -> None:
    for case in cases(EXAMPLE, target):
        assert [seed for seed in range(examples(16)) if not runs_right(case, seed)] == []


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("share", ["1,1", "0.8,1", "1,0.3"])
def test_real_models(small_model: Path, target: str, share: str) -> None:
    if small_model.stem.startswith("mww"):
        with pytest.raises(UsageError, match="one core"):
            tflm_memopt.optimize(small_model.read_bytes(), cores=2, target=target, share=share)
        return
    model = tflm_memopt.optimize(small_model.read_bytes(), cores=2, target=target, share=share, int8_io=True).model
    for case in model_cases(model):
        assert [seed for seed in range(5) if not runs_right(case, seed)] == []


def damaged(change: Callable[[Program, ProgramCores], Program]) -> Status:
    program = unpack(max(cases(), key=lambda case: len(case.program)).program)
    assert program.cores
    return host.check_cores(pack(change(program, program.cores)))


def one_share(program: Program, how: int, cut: int, accumulator: int | None = None) -> Program:
    """The program with another share of its first operator that both cores make."""
    assert program.cores
    shares = [*program.cores.shares]
    i = next(i for i, share in enumerate(shares) if share.how > How.SECOND)
    shares[i] = replace(shares[i], how=how, cut=cut)
    if accumulator is not None:
        shares = [replace(share, accumulator=accumulator) for share in shares]
    return replace(program, cores=replace(program.cores, shares=tuple(shares)))


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda p, _: p, Status.OK),
        (lambda p, _: replace(p, cores=None), Status.OK),
        (lambda p, _: one_share(p, 4, 1), Status.OP),
        (lambda p, _: one_share(p, How.COLUMNS, 0), Status.OP),
        (lambda p, _: one_share(p, How.COLUMNS, 60_000), Status.OP),
        (lambda p, _: one_share(p, How.CHANNELS, 0), Status.OP),
        (lambda p, _: one_share(p, How.CHANNELS, 60_000), Status.OP),
        (lambda p, _: one_share(p, How.CHANNELS, 2), Status.OP),
        (lambda p, _: one_share(p, How.FIRST, 0, accumulator=p.workspace), Status.OP),
        (lambda p, c: replace(p, cores=replace(c, counters=1)), Status.TABLE),
        (lambda p, c: replace(p, cores=replace(c, counters=1 << 31)), Status.TABLE),
        (lambda p, _: replace(p, state=4), Status.TABLE),
    ],
)
def test_what_would_leave_the_buffers_is_refused(
    change: Callable[[Program, ProgramCores], Program], status: Status
) -> None:
    assert damaged(change) is status


def test_the_program_runs_on_one_core_too() -> None:
    for case in cases():
        got = host.run(case.program, case.inputs, [e.nbytes for e in case.expected])
        assert all((a == b.ravel().view(np.int8)).all() for a, b in zip(got, case.expected, strict=True))


@functools.cache
def race(folder: Path) -> Path:
    program = folder / "race"
    return compiled(WATCHED, "race.c", program, LIBRARY / "host/tmo_threads.c")


def raced(case: Case, runs: int, folder: Path, seed: int = 1) -> subprocess.CompletedProcess[str]:
    path = folder / "case.bin"
    path.write_bytes(blob([case]))
    command = [str(race(folder)), str(path), str(runs), str(seed)]
    watched = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    return subprocess.run(command, env=watched, capture_output=True, text=True, timeout=3600, check=False)


@pytest.mark.slow
def test_no_race_under_thread_sanitizer(tmp_path_factory: pytest.TempPathFactory) -> None:
    """With random delays. `make soak KIND=races` has as many runs as you like."""
    folder = tmp_path_factory.mktemp("race")
    for case in racing():
        done = raced(case, examples(RACE_RUNS), folder)
        assert done.returncode == 0, done.stdout + done.stderr[-4000:]


@pytest.mark.slow
def test_a_missing_meeting_is_seen_by_thread_sanitizer(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The case from which one meeting is taken that the checker wants."""
    case = max(cases(), key=lambda case: len(case.program))
    program = unpack(case.program)
    assert program.cores
    meetings = program.cores.meetings
    less = replace(program.cores, meetings=meetings[: len(meetings) // 2] + meetings[len(meetings) // 2 + 1 :])
    planted = replace(case, program=pack(replace(program, cores=less)))
    done = raced(planted, 50, tmp_path_factory.mktemp("planted"))
    assert done.returncode == TSAN_FOUND
    assert "data race" in done.stderr
