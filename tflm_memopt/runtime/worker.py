"""Runs models under the official TFLM wheel, each in a process of its own: `python -m tflm_memopt.runtime.worker`.

A crash in native code ends only the process of one model. Each model runs in a fork of the worker, so that Python
imports its modules only once. A line of standard input starts a fork and is a JSON list: [DIR, RUNS, OUTPUTS, INPUT,
RESETS, CORES]. The worker prints the exit code of the fork. The folder DIR contains the files MODEL and INPUTS. After
all runs, the fork writes the files OUTPUTS and LOG into DIR. The file LOG has TFLM's output with the sizes of the
arena.
"""

import contextlib
import ctypes
import gc
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tflm_memopt.errors import RuntimeUnavailable
from tflm_memopt.runtime import feeds, own, wheel
from tflm_memopt.runtime.stimuli import Array

MODEL = "model.tflite"
INPUTS = "inputs.npz"
"""File with an array for each model input. The first axis of each array is the index of the run."""
OUTPUTS = "outputs.npz"
LOG = "log.txt"

ATTEMPT = "tflm-memopt: trying an arena of"
TOOK = "tflm-memopt: seconds of all runs:"
SMALLEST_ARENA = 1 << 16
LARGEST_ARENA = 1 << 30

MOST_SECONDS = 600.0
"""Maximum processor time of AllocateTensors() and of each inference, in seconds. TFLM may run endlessly on a model with
wrong shapes.
"""
KTFLITE_OK = 0
PR_SET_PDEATHSIG = 1


def save(path: Path, arrays: Sequence[Array]) -> None:
    np.savez(path, *arrays)


def load(path: Path) -> list[Array]:
    with np.load(path, allow_pickle=False) as archive:
        return [archive[f"arr_{k}"] for k in range(len(archive.files))]


def arenas(model_bytes: int) -> Iterator[int]:
    """Yield arena sizes in bytes: the first depends on the model's size, and each further size is twice as large.

    >>> [size >> 20 for size in arenas(200 << 20)]
    [256, 512, 1024]
    """
    size = SMALLEST_ARENA
    while size <= LARGEST_ARENA:
        if size >= min(model_bytes, LARGEST_ARENA):
            yield size
        size *= 2


def allocate(model: bytes) -> Any:
    """Return an interpreter with the smallest tried arena that AllocateTensors accepts."""
    refusal = RuntimeError("no arena was tried")
    for size in arenas(len(model)):
        print(ATTEMPT, size, "B", file=sys.stderr, flush=True)
        try:
            return wheel.interpreter(model, size)
        except RuntimeError as error:
            refusal = error
    raise refusal


def run(directory: Path, runs: int, outputs: int, where: str, resets: Sequence[int], cores: int) -> None:
    """Run the model in the file MODEL on the inputs in the file INPUTS, and write the file OUTPUTS.

    The interpreter is reset before each run in `resets`. The model runs on `cores` threads, which are delayed at random
    after run 0.
    """
    model = (directory / MODEL).read_bytes()
    inputs = load(directory / INPUTS)
    if (directory / own.FILE).exists():
        wheel.use_own(directory / own.FILE)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    tflm = allocate(model)
    feed = feeds.feeder(tflm, model, where, resets)
    results: list[list[Array]] = [[] for _ in range(outputs)]
    began = time.perf_counter()
    for r in range(runs):
        if r in resets:
            tflm.reset()
        wheel.set_cores(cores, r)
        signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
        status = feed([values[r] for values in inputs], r)
        if status != KTFLITE_OK:
            raise RuntimeError(f"Invoke of run {r} returned status {status}")
        for k, result in enumerate(results):
            result.append(tflm.get_output(k))
    print(TOOK, time.perf_counter() - began, file=sys.stderr, flush=True)
    tflm.print_allocations()
    save(directory / OUTPUTS, [np.stack(result) for result in results])


def fork(directory: Path, runs: int, outputs: int, where: str, resets: Sequence[int], cores: int) -> int:
    """Return the exit code of the child process, or the negative number of the signal that ended the process."""
    child = os.fork()
    if not child:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # Linux ends the child when the parent ends.
        os._exit(_logged(directory, runs, outputs, where, resets, cores))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _logged(directory: Path, runs: int, outputs: int, where: str, resets: Sequence[int], cores: int) -> int:
    log = os.open(directory / LOG, os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        run(directory, runs, outputs, where, resets, cores)
    except RuntimeError as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def serve() -> None:
    with contextlib.suppress(RuntimeUnavailable):  # The log of each model contains the error.
        wheel.require()
    gc.freeze()  # Without freeze(), garbage collection in a fork would copy shared memory.
    for line in sys.stdin:
        directory, *rest = json.loads(line)
        answer = fork(Path(directory), *rest)
        with contextlib.suppress(BrokenPipeError):  # An interrupted caller reads no answer.
            print(answer, flush=True)
    os._exit(0)  # All streams are flushed already.


if __name__ == "__main__":
    serve()
