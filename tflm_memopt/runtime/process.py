"""Runs a model under TFLM in a process of its own: the caller's side of worker.py."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflm_memopt.runtime import worker

ARENA_LINE = re.compile(r"Arena allocation (total|head|tail) (\d+) bytes")
"""What RecordingMicroAllocator::PrintAllocations writes (TFLM, recording_micro_allocator.cc)."""
LOG_LINES = 6
"""Of what TFLM printed last, how much goes into a message."""


@dataclass(frozen=True, slots=True)
class Arena:
    """Bytes as the recording interpreter of the wheel counts them, 64-bit pointers."""

    head: int
    tail: int
    total: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of every run, stacked by output; or why there is none."""

    outputs: tuple[NDArray[Any], ...] = ()
    arena: Arena | None = None
    failure: str = ""
    """Empty when every run was done; else what happened and what TFLM said."""


def run_model(
    model: bytes,
    inputs: Sequence[NDArray[Any]],
    runs: int,
    outputs: int,
    *,
    input: str = "",  # noqa: A002 (the option's name)
) -> Outcome:
    """`runs` inferences of `model`, which has that many `outputs`, under the official wheel.

    inputs[k][r] is what input k gets in run r, in the input's shape and type. input: interface.Changes.input; whole
    frames of an input that is streamed or external are given all the same.
    """
    with tempfile.TemporaryDirectory(prefix="tflm-memopt-") as name:
        directory = Path(name)
        (directory / worker.MODEL).write_bytes(model)
        worker.save(directory / worker.INPUTS, inputs)
        command = [sys.executable, "-m", worker.__name__, name, str(runs), str(outputs), input]
        done = subprocess.run(
            command, cwd=name, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        log = done.stdout.decode("utf-8", "replace")
        if done.returncode:
            return Outcome(failure=_failure(done.returncode, log))
        return Outcome(tuple(worker.load(directory / worker.OUTPUTS)), _arena(log))


def _environment() -> dict[str, str]:
    """The caller's, with his module path: the worker imports what he did, and nothing from where he stands."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)}


def _arena(log: str) -> Arena:
    return Arena(**{key: int(value) for key, value in ARENA_LINE.findall(log)})


def _failure(returncode: int, log: str) -> str:
    """One line: how the process ended, then what TFLM said in its last attempt."""
    attempt = log.rpartition(worker.ATTEMPT)[2].splitlines()[1:]
    said = "; ".join(line.strip() for line in attempt[-LOG_LINES:] if line.strip())
    how = f"crashed with {signal.Signals(-returncode).name}" if returncode < 0 else "failed"
    return f"{how}: {said}" if said else how
