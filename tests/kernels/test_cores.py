"""Two threads simulate two cores: random delays change no output byte, and ThreadSanitizer finds no race."""

import functools
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import executor
import numpy as np
import pytest
from conftest import EXAMPLE, KEYWORDS, examples, on_two_cores, thinned
from cores.cases import Case, blob, model_cases
from property import two_cores
from property.forced import mobile

from kernels.conftest import THREADS, WATCHED, compiled
from tflm_memopt.format.codes import Sharding
from tflm_memopt.lower.program import Program, ProgramCores
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.ops.packing import Packing
from tflm_memopt.runtime.host import Status

TARGETS = ("cortex-m33", "esp-nn", "generic")
RACE_RUNS = 100
NETWORKS, RUNS = 12, 10
TSAN_FOUND = 66


@functools.cache
def cases(path: Path = EXAMPLE, target: str = "cortex-m33") -> list[Case]:
    return model_cases(on_two_cores(path, target).model)


def runs_right(case: Case, seed: int) -> bool:
    got = executor.run_shared(case.program, case.arena, case.inputs, [e.nbytes for e in case.expected], seed)
    return all((a == b.ravel().view(np.int8)).all() for a, b in zip(got, case.expected, strict=True))


@pytest.mark.parametrize("target", thinned(TARGETS, 1))
def test_two_threads_give_the_bytes_of_one(target: str) -> None:
    for case in cases(EXAMPLE, target):
        assert [seed for seed in range(examples(8)) if not runs_right(case, seed)] == []


def damaged(change: Callable[[Program, ProgramCores], Program]) -> Status:
    program = unpack(max(cases(), key=lambda case: len(case.program)).program)
    assert program.cores
    return executor.check_cores(pack(change(program, program.cores)))


def one_sharding(program: Program, kind: int, cut: int, accumulator: int | None = None) -> Program:
    assert program.cores
    shardings = [*program.cores.shardings]
    i = next(i for i, sharding in enumerate(shardings) if sharding.kind > Sharding.CORE_1)
    shardings[i] = replace(shardings[i], kind=kind, cut=cut)
    if accumulator is not None:
        shardings = [replace(sharding, accumulator=accumulator) for sharding in shardings]
    return replace(program, cores=replace(program.cores, shardings=tuple(shardings)))


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda p, _: p, Status.OK),
        (lambda p, _: replace(p, cores=None), Status.OK),
        (lambda p, _: one_sharding(p, 4, 1), Status.OP),
        (lambda p, _: one_sharding(p, Sharding.COLUMNS, 0), Status.OP),
        (lambda p, _: one_sharding(p, Sharding.COLUMNS, 60_000), Status.OP),
        (lambda p, _: one_sharding(p, Sharding.CHANNELS, 0), Status.OP),
        (lambda p, _: one_sharding(p, Sharding.CHANNELS, 60_000), Status.OP),
        (lambda p, _: one_sharding(p, Sharding.CHANNELS, 2), Status.OP),
        (lambda p, _: one_sharding(p, Sharding.CORE_0, 0, accumulator=p.workspace), Status.OP),
        (lambda p, c: replace(p, cores=replace(c, counters=1)), Status.TABLE),
        (lambda p, c: replace(p, cores=replace(c, counters=1 << 31)), Status.TABLE),
        (lambda p, c: replace(p, cores=replace(c, counters=c.counters + 1)), Status.TABLE),
        (lambda p, _: replace(p, state=4), Status.TABLE),
    ],
)
def test_what_would_leave_the_buffers_is_refused(
    change: Callable[[Program, ProgramCores], Program], status: Status
) -> None:
    assert damaged(change) is status


def race(folder: Path, command: str = WATCHED) -> Path:
    return compiled(command, "race.c", folder / "race", THREADS)


def raced(program: Path, given: Sequence[Case], runs: int, seed: int = 1) -> subprocess.CompletedProcess[str]:
    path = program.with_suffix(".bin")
    path.write_bytes(blob(given))
    command = [program, path, str(runs), str(seed)]
    watched = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    return subprocess.run(command, env=watched, capture_output=True, text=True, timeout=3600, check=False)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return race(tmp_path_factory.mktemp("race"))


@pytest.mark.slow
def test_no_race_under_thread_sanitizer(watched: Path) -> None:
    done = raced(watched, cases(KEYWORDS), examples(RACE_RUNS))
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]


@pytest.mark.slow
def test_random_networks_have_no_race(watched: Path) -> None:
    given = [case for seed in range(NETWORKS) for case in two_cores.random_cases(mobile(seed))]
    done = raced(watched, given, RUNS)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]


@pytest.mark.slow
def test_a_missing_barrier_is_seen_by_thread_sanitizer(watched: Path) -> None:
    case = max(cases(), key=lambda case: len(case.program))
    program = unpack(case.program)
    assert program.cores
    barriers = program.cores.barriers
    less = replace(program.cores, barriers=barriers[: len(barriers) // 2] + barriers[len(barriers) // 2 + 1 :])
    planted = replace(case, program=pack(replace(program, cores=less)))
    done = raced(watched, [planted], 50)
    assert done.returncode == TSAN_FOUND
    assert "data race" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Sharding.CORE_1, Sharding.COLUMNS])
def test_esp_nn_has_one_scratch_for_depthwise_convolutions(kind: Sharding) -> None:
    """ESP-NN has a single scratch buffer, so two cores must not run depthwise convolutions at once."""
    program = unpack(max(cases(EXAMPLE, "esp-nn"), key=lambda case: len(case.program)).program)
    assert program.cores
    shardings = [*program.cores.shardings]
    i = next(i for i, op in enumerate(program.ops) if op.packing is Packing.ESP_DEPTHWISE)
    assert executor.check_cores(pack(program)) is Status.OK
    shardings[i] = replace(shardings[i], kind=kind, cut=1)
    changed = replace(program, cores=replace(program.cores, shardings=tuple(shardings)))
    assert executor.check_cores(pack(changed)) is Status.OP
