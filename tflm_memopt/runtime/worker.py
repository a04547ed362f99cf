"""One model, run in a process of its own under the official TFLM wheel: `python -m tflm_memopt.runtime.worker DIR
RUNS OUTPUTS INPUT`.

A defect in native code (the model's, the operator's, TFLM's) ends this process and not its caller's. DIR holds MODEL
and INPUTS; the worker writes OUTPUTS there when every run was done. What TFLM prints is left on stderr, for the
caller to capture; print_allocations() is the only way to its arena figures. The caller's side is in process.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.runtime import feeds
from tflm_memopt.runtime.wheel import interpreter

MODEL = "model.tflite"
INPUTS = "inputs.npz"
"""All runs of input 0, 1, ..., each stacked along a new first axis."""
OUTPUTS = "outputs.npz"
"""The same for outputs."""

ATTEMPT = "tflm-memopt: trying an arena of"
"""Marks, on stderr, where an attempt at AllocateTensors starts."""
SMALLEST_ARENA = 1 << 16
LARGEST_ARENA = 1 << 30

KTFLITE_OK = 0


def save(path: Path, arrays: Sequence[NDArray[Any]]) -> None:
    """Writes arrays in their order."""
    np.savez(path, *arrays)


def load(path: Path) -> list[NDArray[Any]]:
    """Reads them back."""
    with np.load(path, allow_pickle=False) as archive:
        return [archive[f"arr_{k}"] for k in range(len(archive.files))]


def arenas(model_bytes: int) -> Iterator[int]:
    """Arena sizes to try, in bytes: from the model's size, doubling, bounded.

    >>> [size >> 20 for size in arenas(200 << 20)]
    [256, 512, 1024]
    """
    size = SMALLEST_ARENA
    while size <= LARGEST_ARENA:
        if size >= min(model_bytes, LARGEST_ARENA):
            yield size
        size *= 2


def allocate(model: bytes) -> Any:
    """An interpreter in the first arena that AllocateTensors accepts. TFLM's answer does not say whether size was the
    reason.
    """
    refusal = RuntimeError("no arena was tried")
    for size in arenas(len(model)):
        print(ATTEMPT, size, "B", file=sys.stderr, flush=True)
        try:
            return interpreter(model, size)
        except RuntimeError as error:
            refusal = error
    raise refusal


def run(directory: Path, runs: int, outputs: int, where: str) -> None:
    """All `runs` of INPUTS through MODEL, which has that many outputs, into OUTPUTS. `where`: its input is."""
    model = (directory / MODEL).read_bytes()
    inputs = load(directory / INPUTS)
    tflm = allocate(model)
    feed = feeds.feeder(tflm, model, where)
    results: list[list[NDArray[Any]]] = [[] for _ in range(outputs)]
    for r in range(runs):
        status = feed([values[r] for values in inputs], r)
        if status != KTFLITE_OK:
            raise RuntimeError(f"Invoke of run {r} returned status {status}")
        for k, result in enumerate(results):
            result.append(tflm.get_output(k))
    tflm.print_allocations()
    save(directory / OUTPUTS, [np.stack(result) for result in results])


if __name__ == "__main__":
    try:
        run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    except RuntimeError as error:
        sys.exit(str(error))
