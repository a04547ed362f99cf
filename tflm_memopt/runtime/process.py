"""Runs models under TFLM in a separate process (worker.py), which runs until the caller ends."""

import atexit
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tflm_memopt.runtime import own, worker
from tflm_memopt.runtime.stimuli import Array

ARENA_LINE = re.compile(r"Arena allocation (total|head|tail) (\d+) bytes")
"""Lines that TFLM's RecordingMicroAllocator::PrintAllocations prints (recording_micro_allocator.cc)."""
TOOK_LINE = re.compile(re.escape(worker.TOOK) + r" (\S+)")
LOG_LINES = 6

_reading = threading.Lock()
"""NumPy reads the header of an array with `ast`, which CPython 3.11 cannot run in two threads (gh-106905)."""


@dataclass(frozen=True, slots=True)
class RecordedArena:
    """Sizes in bytes that the interpreter in TFLM's wheel records on this machine, where pointers have 64 bits."""

    head: int
    tail: int
    total: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outputs of a model, stacked over all runs, or the reason why the model did not run."""

    outputs: tuple[Array, ...] = ()
    arena: RecordedArena | None = None
    failure: str = ""
    """The words that follow "the model" in a message about a failure, or "" after success."""
    seconds: float = 0.0


def run_model(
    model: bytes,
    inputs: Sequence[Array],
    runs: int,
    outputs: int,
    *,
    input: str = "",  # noqa: A002
    resets: Sequence[int] = (),
    cores: int = 1,
) -> Outcome:
    """Run `runs` inferences of a model with `outputs` outputs under TFLM's official wheel.

    The array `inputs[k][r]` is the whole value of input k in run r, even if the input is streamed or external. The
    argument `input` states where the application puts the input, as in `Changes.input`. Before each run in `resets`,
    the interpreter is reset. A model made for two cores runs on `cores` threads with random delays.
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
            return Outcome(failure=failure(returncode, said))
        took = TOOK_LINE.search(said)
        with _reading:
            outputs_of_all = tuple(worker.load(directory / worker.OUTPUTS))
        return Outcome(outputs_of_all, recorded(said), seconds=float(took[1]) if took else 0.0)


Worker = subprocess.Popen[str]

_idle: dict[int, list[Worker]] = {}
"""After a fork, a process must not use the workers of its parent."""


def _ask(request: Sequence[object]) -> int:
    """Return the exit code of the fork that ran a model."""
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
    with contextlib.suppress(IndexError):
        while process := mine.pop():
            if process.poll() is None:
                return process
            _end(process)
    command = [sys.executable, "-m", worker.__name__]
    return subprocess.Popen(
        command, cwd=os.sep, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,  # Ctrl-C reaches only the caller, which ends the worker.
    )  # fmt: skip


def _end(process: Worker) -> int:
    with contextlib.suppress(BrokenPipeError), process:  # A worker process ends when its standard input is closed.
        pass
    return process.returncode


@atexit.register
def _end_all() -> None:
    for process in _idle.pop(os.getpid(), []):
        _end(process)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)}


def recorded(log: str) -> RecordedArena:
    return RecordedArena(**{key: int(value) for key, value in ARENA_LINE.findall(log)})


def failure(returncode: int, log: str) -> str:
    attempt = log.rpartition(worker.ATTEMPT)[2].splitlines()[1:]
    said = "; ".join(line.strip() for line in attempt[-LOG_LINES:] if line.strip())
    if returncode == -signal.SIGVTALRM:
        return f"did not end in TFLM within {worker.MOST_SECONDS:g} s"
    how = f"crashed in TFLM ({_signal(-returncode)})" if returncode < 0 else "does not run in TFLM"
    return f"{how}: {said}" if said else how


def _signal(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
