"""Runs programs with buffers at their planned addresses, and checks all writes."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import MemoptError
from tflm_memopt.format.codes import InputPlace
from tflm_memopt.model.graph import Graph, Tensor
from tflm_memopt.model.reader import Model, describe
from tflm_memopt.runtime import host
from tflm_memopt.runtime.regions import CustomOperator, placement, regions
from tflm_memopt.runtime.stimuli import Array
from tflm_memopt.runtime.windows import whole

State = NDArray[np.uint8]

RANDOM_RUNS = 2
"""Number of runs of a custom operator on random values."""


def guarded_runs(model: Model, inputs: Sequence[Sequence[Array]], seed: int) -> tuple[int, str]:
    """Return the number of runs, and a description of the first error or "".

    If the whole model is one custom operator, the operator runs on `inputs`. Each element of `inputs` has all inputs of
    the model for one run. Custom operators inside a larger model run on random values. An iteration may write only to
    its output row, its sums and its counters. The outputs must equal the outputs of a second run, whose buffers do not
    overlap.
    """
    done = 0
    for region in regions(model):
        states = host.new_state(region.program), host.new_state(region.program)
        alone = region.inputs == model.graph.inputs and region.outputs == model.graph.outputs
        for values in _in_steps(model.graph, region, inputs) if alone else _random(model.graph, region, seed):
            try:
                problem = _run(model, region, values, seed, *states)
            except MemoptError as error:
                problem = f"{error.what} ({error.where})" if error.where else error.what
            if problem:
                return done, f"{describe(region.op)}, guarded run {done} (seed {seed}): {problem}"
            done += 1
    return done, ""


def _run(model: Model, region: CustomOperator, inputs: Sequence[Array], seed: int, watched: State, plain: State) -> str:
    sizes = [model.graph.tensors[t].nbytes for t in region.outputs]
    got = host.run_guarded(region.program, placement(model, region), inputs, sizes, seed, watched)
    expected = host.run(region.program, inputs, sizes, plain)
    for t, a, b in zip(region.outputs, expected, got, strict=True):
        wrong = np.flatnonzero(a != b)
        if model.graph.tensors[t].dtype == "FLOAT32":  # In IEEE 754, a NaN may have any sign and payload.
            wrong = wrong[~(np.isnan(a.view(np.float32)) & np.isnan(b.view(np.float32)))[wrong // 4]]
        if len(wrong):
            at = wrong[0]
            return (
                f"byte {at:,} of output '{model.graph.tensors[t].label}' is {b[at]} where buffers overlap as planned, "
                f"{a[at]} in separate buffers ({len(wrong):,} of {len(a):,} differ)"
            )
    return ""


def _in_steps(graph: Graph, region: CustomOperator, inputs: Sequence[Sequence[Array]]) -> Iterator[Sequence[Array]]:
    elements = [graph.tensors[t].elements for t in region.inputs]
    for values in inputs:
        if region.input == InputPlace.ARENA and len(elements) == 1 and values[0].size > elements[0]:
            yield from ([rows] for rows in whole(values[0], elements[0]))
        else:
            yield values


def _random(graph: Graph, region: CustomOperator, seed: int) -> list[list[Array]]:
    random = np.random.default_rng(seed)
    tensors = [graph.tensors[t] for t in region.inputs]
    sources = [] if region.input == InputPlace.ARENA else [math.prod(host.source_shape(region.program))]
    others = tensors[region.input == InputPlace.STREAM :]
    return [
        [
            *(random.integers(-128, 128, count, dtype=np.int8) for count in sources),
            *(_drawn(random, tensor) for tensor in others),
        ]
        for _ in range(RANDOM_RUNS)
    ]


def _drawn(random: np.random.Generator, tensor: Tensor) -> Array:
    if tensor.dtype == "INT32":
        return np.zeros(tensor.nbytes, np.int8)
    return random.integers(-128, 128, tensor.nbytes, dtype=np.int8)
