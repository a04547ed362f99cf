"""Are two models the same function, byte for byte? Both run; every output is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import ModelError
from tflm_memopt.model import interface
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.interface import Change, Changes
from tflm_memopt.model.reader import read
from tflm_memopt.results import Sample
from tflm_memopt.runtime import convert, host_model, stand_in, wheel
from tflm_memopt.runtime.guard import guarded_runs
from tflm_memopt.runtime.process import Arena, Outcome, run_model
from tflm_memopt.runtime.stimuli import EXTREMES, Run, from_files, matches, stimuli

Array = NDArray[Any]

How = Literal["tflm-wheel", "host-reference"]
TFLM_WHEEL: How = "tflm-wheel"
HOST_REFERENCE: How = "host-reference"


@dataclass(frozen=True, slots=True)
class Difference:
    """The first byte that differs."""

    run: int
    label: str
    """Where the run's input comes from."""
    output: int
    name: str
    index: tuple[int, ...]
    original: int | float
    rewritten: int | float
    elements: int
    """How many elements of this output differ in this run."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the interpreters took, in bytes. Not what a 32-bit device takes: pointers have 64 bits here, and recording
    costs some.
    """

    original: Arena
    rewritten: Arena
    abi: str = "lp64"
    recording: bool = True


@dataclass(frozen=True, slots=True)
class Verification:
    """The answer of `verify`."""

    bit_exact: bool
    runs: int
    """Random inputs that were tried."""
    extremes: int
    """And all lowest, all highest, alternating."""
    files: int
    """And the user's own."""
    seed: int
    guarded: int
    """Runs of the rewritten model's programs in the watched executor, canaries around everything."""
    how: How
    """What ran the original: "tflm-wheel", or "host-reference", this package's own kernels where the wheel does not
    exist.
    """
    measured: Measured | None = None
    difference: Difference | None = None
    failure: str = ""
    """Why the rewritten model did not run, or what its programs did wrong in the watched executor."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def verify(
    original: bytes,
    rewritten: bytes,
    *,
    runs: int = 10,
    seed: int = 0,
    inputs: Sequence[Array] = (),
    how: How | None = None,
) -> Verification:
    """Runs both models on `runs` random inputs, three extreme ones and the user's `inputs`, and compares every byte.

    `inputs` holds one array per model input and inference, in the format of the original or of the rewritten model
    (see stimuli.from_files). `how` is for tests: by default the official wheel where it exists for this platform,
    else this package's own kernels.

    Raises InterfaceError when the two cannot be compared, ModelError when one cannot be read or the original does not
    run, RuntimeUnavailable when something has to be installed first, UsageError for arrays that do not fit.
    """
    how = how or (TFLM_WHEEL if wheel.exists_here() else HOST_REFERENCE)
    before, after = read(original), read(rewritten)
    changes = interface.changes_of(interface.metadata(after.tree, interface.METADATA))
    seen = interface.with_whole_input(before.graph, after.graph, changes)
    interface.compare(before.graph, seen, changes)
    cases = _cases(before.graph, seen, changes, runs=runs, seed=seed, files=inputs)
    execute = _under_tflm if how == TFLM_WHEEL else _on_host
    asked, asked_after = stand_in.runnable(original), stand_in.runnable(rewritten)
    as_they_are = asked is original and asked_after is rewritten
    expected, got = execute(
        _Job(asked, before.graph, [case.original for case in cases]),
        _Job(asked_after, seen, [case.rewritten for case in cases], changes.input),
    )
    if expected.failure:
        raise ModelError(
            f"the original model does not run: {expected.failure}",
            code="original_does_not_run",
            hint="verify what TFLM can run",
        )
    guarded, failure, difference = 0, got.failure, None
    if not failure:
        watched = [case.rewritten.values for case in cases[max(runs - 1, 0) :][: 1 + len(EXTREMES)]]
        guarded, failure = guarded_runs(after, watched, seed)
        difference = _difference(before.graph, changes, cases, expected, got)
    return Verification(
        bit_exact=not failure and difference is None,
        runs=runs,
        extremes=len(EXTREMES),
        files=len(cases) - runs - len(EXTREMES),
        guarded=guarded,
        seed=seed,
        how=how,
        measured=Measured(expected.arena, got.arena) if expected.arena and got.arena and as_they_are else None,
        difference=difference,
        failure=failure,
    )


def sample(original: bytes, rewritten: bytes, *, seed: int = 0) -> Sample:
    """One random inference of both models, in the rewritten one's formats. Raises as verify() does, and ModelError when
    the two differ.
    """
    before, after = read(original), read(rewritten)
    changes = interface.changes_of(interface.metadata(after.tree, interface.METADATA))
    seen = interface.with_whole_input(before.graph, after.graph, changes)
    cases = _cases(before.graph, seen, changes, runs=1, seed=seed, files=())[:1]
    execute = _under_tflm if wheel.exists_here() else _on_host
    expected, got = execute(
        _Job(stand_in.runnable(original), before.graph, [case.original for case in cases]),
        _Job(stand_in.runnable(rewritten), seen, [case.rewritten for case in cases], changes.input),
    )
    failure = expected.failure or got.failure
    if failure or _difference(before.graph, changes, cases, expected, got):
        hint = "verify both models; please report it if they differ"
        raise ModelError(f"no inference to store: {failure or 'the outputs differ'}", code="no_sample", hint=hint)
    inputs, outputs = cases[0].rewritten.values, [output[0] for output in got.outputs]
    return Sample(tuple(v.tobytes() for v in inputs), tuple(v.tobytes() for v in outputs))


@dataclass(frozen=True, slots=True)
class _Job:
    """A model and what it is fed."""

    model: bytes
    graph: Graph
    fed: Sequence[Run]
    input: str = ""
    """Changes.input."""

    def stacks(self) -> list[Array]:
        """All runs of input 0, of input 1, ..."""
        return [np.stack(values) for values in zip(*(run.values for run in self.fed), strict=True)]


def _under_tflm(*jobs: _Job) -> Iterable[Outcome]:
    wheel.require()
    with ThreadPoolExecutor(len(jobs)) as pool:
        outcomes = pool.map(
            lambda j: run_model(j.model, j.stacks(), len(j.fed), len(j.graph.outputs), input=j.input), jobs
        )
        return list(outcomes)


def _on_host(*jobs: _Job) -> Iterable[Outcome]:
    return [Outcome(host_model.run_model(job.graph, job.stacks(), len(job.fed))) for job in jobs]


@dataclass(frozen=True, slots=True)
class _Case:
    """One inference, as each of the two models is fed."""

    original: Run
    rewritten: Run


def _cases(
    before: Graph, after: Graph, changes: Changes, *, runs: int, seed: int, files: Sequence[Array]
) -> list[_Case]:
    """Values are drawn in the rewritten model's format and fed to the original through the operators that the rewrite
    removed.
    """
    changed = {change.index: change for change in changes.inputs}
    old = [before.tensors[t] for t in before.inputs]
    new = [after.tensors[t] if k in changed else old[k] for k, t in enumerate(after.inputs)]
    to_old, to_new = _each(changed, convert.preimage), _each(changed, convert.forward)
    cases = [_Case(_mapped(to_old, run), run) for run in stimuli(before, new, runs, seed)]
    if matches(old, files):
        return cases + [_Case(run, _mapped(to_new, run)) for run in from_files(old, files)]
    return cases + [_Case(_mapped(to_old, run), run) for run in from_files(new, files)]


Conversion = Callable[[Array], Array]


def _each(changed: dict[int, Change], conversion: Callable[[Change], Conversion]) -> dict[int, Conversion]:
    return {index: conversion(change) for index, change in changed.items()}


def _mapped(conversions: dict[int, Conversion], run: Run) -> Run:
    return Run(run.label, tuple(conversions[k](v) if k in conversions else v for k, v in enumerate(run.values)))


def _difference(
    graph: Graph, changes: Changes, cases: Sequence[_Case], expected: Outcome, got: Outcome
) -> Difference | None:
    """The first difference, by run and then by output. Floats are compared as bits: -0.0 is not 0.0, and a NaN equals
    itself.
    """
    back = _each({change.index: change for change in changes.outputs}, convert.backward)
    outputs = [
        (a, back[k](b) if k in back else b) for k, (a, b) in enumerate(zip(expected.outputs, got.outputs, strict=True))
    ]
    for r, case in enumerate(cases):
        for k, (a, b) in enumerate(outputs):
            wrong = np.argwhere(_bits(a[r]) != _bits(b[r]))
            if len(wrong):
                where = tuple(int(i) for i in wrong[0])
                name = graph.tensors[graph.outputs[k]].name
                return Difference(
                    r, case.original.label, k, name, where, a[r][where].item(), b[r][where].item(), len(wrong)
                )
    return None


def _bits(values: Array) -> Array:
    return np.ascontiguousarray(values).view(f"u{values.itemsize}")
