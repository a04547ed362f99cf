"""Runs two models on the same inputs, and finds the first difference between their outputs."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from tflm_memopt.errors import UsageError
from tflm_memopt.model import interface
from tflm_memopt.model.graph import Graph, Tensor
from tflm_memopt.model.interface import Change, Changes
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import convert, host_model, wheel
from tflm_memopt.runtime.convert import Conversion
from tflm_memopt.runtime.feeds import RESET_BEFORE
from tflm_memopt.runtime.process import Outcome, run_model
from tflm_memopt.runtime.stimuli import (
    EVERY,
    NO_STEPS,
    Array,
    Run,
    Steps,
    every_value,
    from_files,
    matches,
    sequence,
    stimuli,
)
from tflm_memopt.runtime.windows import step_elements, windows


@dataclass(frozen=True, slots=True)
class Difference:
    run: int
    label: str
    output: int
    name: str
    index: tuple[int, ...]
    original: int | float
    rewritten: int | float
    elements: int
    ulps: int | None = None
    """Largest difference of float32 values in units of the last place, or None for outputs of other types."""


@dataclass(frozen=True, slots=True)
class Job:
    model: bytes
    graph: Graph
    fed: Sequence[Run]
    input: str = ""
    cores: int = 1

    def stacks(self) -> list[Array]:
        return [np.stack(values) for values in zip(*(run.values for run in self.fed), strict=True)]

    def resets(self) -> list[int]:
        return [r for r, run in enumerate(self.fed) if run.reset]


def under_tflm(*jobs: Job) -> Iterable[Outcome]:
    wheel.require()
    with ThreadPoolExecutor(len(jobs)) as pool:
        outcomes = pool.map(
            lambda j: run_model(
                j.model, j.stacks(), len(j.fed), len(j.graph.outputs), input=j.input, resets=j.resets(), cores=j.cores
            ),
            jobs,
        )
        return list(outcomes)


def on_host(*jobs: Job) -> Iterable[Outcome]:
    found = []
    for job in jobs:
        step, began = step_elements(read(job.model).graph, job.input), time.perf_counter()
        outputs = host_model.run_model(job.graph, job.stacks(), len(job.fed), job.resets(), step)
        found.append(Outcome(outputs, seconds=time.perf_counter() - began))
    return found


@dataclass(frozen=True, slots=True)
class Case:
    original: Run
    rewritten: Run


def cases_of(
    before: Graph,
    after: Graph,
    changes: Changes,
    *,
    runs: int,
    seed: int,
    files: Sequence[Array],
    steps: Steps = NO_STEPS,
    new: int = 0,
) -> list[Case]:
    """Return all cases of a test: random inputs, extreme inputs, the user's inputs, and a sequence of inferences.

    The argument `new` is the number of new elements of a sliding input in each inference, or 0 without a sliding input.
    """
    inputs = inputs_of(before, after, changes)
    usual = of_rewritten(changes, stimuli(before, inputs, runs, seed)) + _of_files(before, after, changes, files)
    if not new:
        return usual + of_rewritten(changes, sequence(before, inputs, steps, seed))
    case = usual[RESET_BEFORE]
    usual[RESET_BEFORE] = Case(replace(case.original, reset=True), replace(case.rewritten, reset=True))
    return usual + of_rewritten(changes, windows(before, inputs[0], new, steps, seed))


def further_cases(
    before: Graph, after: Graph, changes: Changes, *, done: int, count: int, seed: int
) -> tuple[list[Case], int]:
    """Return a list of `count` test cases, and the number of cases in the list that every_value() made.

    Cases from every_value() come first, in sets of 256, and random cases follow. The first `done` random cases are left
    out, because they were tested earlier.
    """
    inputs, found = inputs_of(before, after, changes), list[Run]()
    if count >= EVERY:
        found = every_value(before, inputs, seed)[:count]
        found = found[: len(found) // EVERY * EVERY]
    total = done + count - len(found)
    drawn = stimuli(before, inputs, total, seed)[done:total]
    return of_rewritten(changes, [*found, *drawn]), len(found)


def _of_files(before: Graph, after: Graph, changes: Changes, files: Sequence[Array]) -> list[Case]:
    old = [before.tensors[t] for t in before.inputs]
    if matches(old, files):
        to_new = each(changes.inputs, convert.forward)
        return [Case(run, _mapped(to_new, run)) for run in from_files(old, files)]
    return of_rewritten(changes, from_files(inputs_of(before, after, changes), files))


def example_of(before: Graph, after: Graph, changes: Changes, files: Sequence[Array]) -> Case:
    inputs = inputs_of(before, after, changes)
    quantized = [_quantized(inputs[k % len(inputs)], array) for k, array in enumerate(files)] if inputs else files
    return _of_files(before, after, changes, quantized)[0]


def _quantized(tensor: Tensor, array: Array) -> Array:
    form = interface.format_of(tensor)
    if array.dtype.kind != "f" or form.scale is None:
        return array
    return convert.quantize(array, form)


def inputs_of(before: Graph, after: Graph, changes: Changes) -> list[Tensor]:
    """Raises UsageError for an input without a fixed shape."""
    changed = {change.index for change in changes.inputs}
    found = [after.tensors[t] if k in changed else before.tensors[before.inputs[k]] for k, t in enumerate(after.inputs)]
    for tensor in found:
        if min(tensor.shape, default=0) < 0:
            what = f"the shape of input '{tensor.label}' is known only at run time"
            raise UsageError(what, code="unsupported_input", hint="convert the model with a fixed input shape")
    return found


def of_rewritten(changes: Changes, runs: Iterable[Run]) -> list[Case]:
    """Pair each run of the rewritten model with a run of the original model. The values of a rewritten model's inputs
    are converted to the formats of the original inputs.
    """
    to_old = each(changes.inputs, convert.preimage)
    return [Case(_mapped(to_old, run), run) for run in runs]


def each(changed: Sequence[Change], conversion: Callable[[Change], Conversion]) -> dict[int, Conversion]:
    return {change.index: conversion(change) for change in changed}


def _mapped(conversions: dict[int, Conversion], run: Run) -> Run:
    return replace(run, values=tuple(conversions[k](v) if k in conversions else v for k, v in enumerate(run.values)))


def first_difference(
    graph: Graph, changes: Changes, cases: Sequence[Case], expected: Outcome, got: Outcome
) -> Difference | None:
    back = each(changes.outputs, convert.backward)
    outputs = [
        (a, back[k](b) if k in back else b) for k, (a, b) in enumerate(zip(expected.outputs, got.outputs, strict=True))
    ]
    if all(np.array_equal(_bits(a), _bits(b)) for a, b in outputs):
        return None
    for r, case in enumerate(cases):
        for k, (a, b) in enumerate(outputs):
            wrong = np.argwhere(_bits(a[r]) != _bits(b[r]))
            if len(wrong):
                where = tuple(int(i) for i in wrong[0])
                name = graph.tensors[graph.outputs[k]].name
                values = a[r][where].item(), b[r][where].item()
                ulps = units_apart(a[r], b[r]) if a.dtype == np.float32 else None
                return Difference(r, case.original.label, k, name, where, *values, len(wrong), ulps)
    return None


def units_apart(a: Array, b: Array) -> int:
    """Return the largest difference of two float32 arrays, in units of the last place.

    >>> units_apart(np.float32([1, 0]), np.float32([1.0000001, -0.0]))
    1
    """
    places = [np.where(v < 0, -(1 << 31) - v, v) for v in (_bits(x).view(np.int32).astype(np.int64) for x in (a, b))]
    return int(np.abs(places[0] - places[1]).max())


def _bits(values: Array) -> Array:
    return np.ascontiguousarray(values).view(f"u{values.itemsize}")
