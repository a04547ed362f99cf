"""Makes inputs in which each element takes every value. For int8 inputs of any size, 256 inferences suffice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import Graph, Tensor
from tflm_memopt.runtime.stimuli import Array, Run, dtype_of, limits

RUNS = 256
"""Number of inferences in which a byte takes every value."""
WHOLE = ("INT8", "UINT8", "INT16", "UINT16")
"""Types whose bytes may have any value."""
SIDES = 3
"""Offsets of a float from the border between two quantized values: on the border, and next to it on both sides."""


def every_value(graph: Graph, inputs: Sequence[Tensor], seed: int) -> list[Run]:
    """Return inferences in which each byte of each integer input takes every value.

    Integers of 32 and 64 bits take 256 values of their range. A float input of a QUANTIZE takes the real value of each
    int8 result. Other float inputs take 256 values of their range. For float inputs, 256 more inferences test values at
    or next to the border between two values. graph: the original, whose operators limit the values.
    """
    values = [_levels(graph, tensor, seed, k) for k, tensor in enumerate(inputs)]
    runs = [Run(f"every value {r}", tuple(value(r, 0) for value in values)) for r in range(RUNS)]
    if any(tensor.dtype == "FLOAT32" for tensor in inputs):
        runs += [Run(f"border {r}", tuple(value(r, 1) for value in values)) for r in range(RUNS)]
    return runs


def _levels(graph: Graph, tensor: Tensor, seed: int, number: int) -> Callable[[int, int], Array]:
    """Return a function that makes a tensor from a run's number and a kind. Kind 0 gives each element one of 256
    values. Kind 1 gives each element a value at or next to the border between two quantized values. Each element has
    its own random start and a random odd step, and so reaches all 256 values.
    """
    random = np.random.default_rng([seed, number])
    low, high = limits(graph, tensor)
    nbytes = tensor.nbytes if tensor.dtype in WHOLE else tensor.elements
    start, step = (random.integers(0, RUNS, nbytes, dtype=np.uint8) for _ in range(2))

    def index(r: int) -> NDArray[np.uint8]:
        rotated: NDArray[np.uint8] = start + np.uint8(r) * (step | np.uint8(1))
        return rotated

    def whole(r: int, _: int) -> Array:
        values: Array = index(r).view(dtype_of(tensor)).reshape(tensor.shape)
        return values

    def number_of_range(r: int, _: int) -> Array:
        count = int(high) - int(low) + 1
        spread = (start.astype(np.int64) + r) % count if count <= RUNS else index(r).astype(np.int64) * count // RUNS
        return (int(low) + spread).astype(dtype_of(tensor)).reshape(tensor.shape)

    def real(r: int, border: int) -> Array:
        unit = (high - low) / (RUNS + 1)  # `low` and `high` are one value outside the quantized range
        values = (low + unit * (index(r) + 1.0 - border / 2)).astype(np.float32)
        if border:
            neighbours = np.stack(
                [values, np.nextafter(values, np.float32(low)), np.nextafter(values, np.float32(high))]
            )
            values = neighbours[(start + r) % SIDES, np.arange(len(values))]
        return values.reshape(tensor.shape)

    if tensor.dtype in WHOLE:
        return whole
    return real if tensor.dtype == "FLOAT32" else number_of_range
