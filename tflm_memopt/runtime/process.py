"""Runs a model under TFLM in a separate process (worker.py), which serves further models until the caller ends."""

import atexit
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tflm_memopt.runtime import own, worker
from tflm_memopt.runtime.stimuli import Array

ARENA_LINE = re.compile(r"Arena allocation (total|head|tail) (\d+) bytes")
"""Output of RecordingMicroAllocator::PrintAllocations (TFLM, recording_micro_allocator.cc)."""
TOOK_LINE = re.compile(re.escape(worker.TOOK) + r" (\S+)")
LOG_LINES = 6
"""Number of last lines of TFLM's output that a message repeats."""


@dataclass(frozen=True, slots=True)
class RecordedArena:
    """Bytes that the wheel's recording interpreter counts, with 64-bit pointers."""

    head: int
    tail: int
    total: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outputs of all runs, stacked by output, or the reason why there are none."""

    outputs: tuple[Array, ...] = ()
    arena: RecordedArena | None = None
    failure: str = ""
    """Phrase after "the model" that says how it failed, with TFLM's output, or ""."""
    seconds: float = 0.0
    """Time of all runs, without the start of the interpreter."""


def run_model(
    model: bytes,
    inputs: Sequence[Array],
    runs: int,
    outputs: int,
    *,
    input: str = "",  # noqa: A002 (the option's name)
    resets: Sequence[int] = (),
    cores: int = 1,
) -> Outcome:
    """Run `runs` inferences of a model with `outputs` outputs under the official wheel.

    inputs[k][r]: value of input k in run r, with the whole input also if it is streamed or external. input:
    Changes.input. resets: runs before which the interpreter is reset. cores: number of threads for a model made for two
    cores, which get random delays.
    """
    with tempfile.TemporaryDirectory(prefix="tflm-memopt-") as name:
        directory = Path(name)
        (directory / worker.MODEL).write_bytes(model)
        own.build(directory)
        worker.save(directory / worker.INPUTS, inputs)
        returncode = _ask([name, runs, outputs, input, list(resets), cores])
        log = directory / worker.LOG
        said = log.read_text("utf-8", "replace") if log.exists() else ""
        if returncode:
            return Outcome(failure=_failure(returncode, said))
        took = TOOK_LINE.search(said)
        outputs_of_all = tuple(worker.load(directory / worker.OUTPUTS))
        return Outcome(outputs_of_all, recorded(said), seconds=float(took[1]) if took else 0.0)


Worker = subprocess.Popen[str]

_idle: dict[int, list[Worker]] = {}
"""Idle workers by the process that started them. After a fork, a process must not use the workers of its parent."""


def _ask(request: Sequence[object]) -> int:
    """Return the exit code of the process that ran a model. If the worker ended, return the worker's exit code."""
    process = _take()
    try:
        questions, answers = _pipes(process)
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(request), file=questions, flush=True)
        answer = answers.readline()
    except BaseException:
        process.kill()
        _end(process)
        raise
    if not answer:
        return _end(process) or 1
    _idle.setdefault(os.getpid(), []).append(process)
    return int(answer)


def _pipes(worker: Worker) -> tuple[IO[str], IO[str]]:
    if worker.stdin is None or worker.stdout is None:
        raise TypeError("a worker has pipes: _take() starts it with them")
    return worker.stdin, worker.stdout


def _take() -> Worker:
    mine = _idle.get(os.getpid(), [])
    with contextlib.suppress(IndexError):  # another thread may have taken the last worker
        while process := mine.pop():
            if process.poll() is None:
                return process
            _end(process)
    command = [sys.executable, "-m", worker.__name__]
    return subprocess.Popen(
        command, cwd=os.sep, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,  # only the caller gets Ctrl-C, and then ends the worker
    )  # fmt: skip


def _end(process: Worker) -> int:
    with contextlib.suppress(BrokenPipeError), process:  # a worker ends when its input is closed
        pass
    return process.returncode


@atexit.register
def _end_all() -> None:
    for process in _idle.pop(os.getpid(), []):
        _end(process)


def environment() -> dict[str, str]:
    """Return the environment for a worker, which imports modules from the same folders as the caller."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)}


def recorded(log: str) -> RecordedArena:
    """Return the arena figures in TFLM's output."""
    return RecordedArena(**{key: int(value) for key, value in ARENA_LINE.findall(log)})


def _failure(returncode: int, log: str) -> str:
    """Return one line that tells how the process ended, with TFLM's output of the last attempt."""
    attempt = log.rpartition(worker.ATTEMPT)[2].splitlines()[1:]
    said = "; ".join(line.strip() for line in attempt[-LOG_LINES:] if line.strip())
    how = f"crashed in TFLM ({_signal(-returncode)})" if returncode < 0 else "does not run in TFLM"
    return f"{how}: {said}" if said else how


def _signal(number: int) -> str:
    """Return the name of a signal, or its number for a real-time signal."""
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
