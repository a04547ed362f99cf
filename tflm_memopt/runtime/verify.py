"""Are two models the same function, byte for byte? Both run; every output is compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import ModelError, UsageError
from tflm_memopt.files import GivenModel, loaded
from tflm_memopt.lower.program import ProgramOp
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.model import interface
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import Model, read
from tflm_memopt.results import Sample
from tflm_memopt.runtime import c_module, convert, stand_in, telling, wheel
from tflm_memopt.runtime.cases import (
    Case,
    Difference,
    Job,
    cases_of,
    each,
    first_difference,
    inputs_of,
    of_rewritten,
    on_host,
    under_tflm,
)
from tflm_memopt.runtime.guard import guarded_runs
from tflm_memopt.runtime.process import Outcome, RecordedArena
from tflm_memopt.runtime.regions import regions
from tflm_memopt.runtime.stimuli import EXTREMES, NO_STEPS, Run, Steps
from tflm_memopt.runtime.windows import step_elements

Array = NDArray[Any]

How = Literal["tflm-wheel", "host-reference"]
TFLM_WHEEL: How = "tflm-wheel"
HOST_REFERENCE: How = "host-reference"


@dataclass(frozen=True, slots=True)
class Measured:
    """What the interpreters took, in bytes. Not what a 32-bit device takes: pointers have 64 bits here, and recording
    costs some.
    """

    original: RecordedArena
    rewritten: RecordedArena
    abi: str = "lp64"
    recording: bool = True


@dataclass(frozen=True, slots=True)
class PortBytes:
    """An output of the original model and the same of a C module, over all runs."""

    output: int
    name: str
    bytes: int
    different: int
    """How many of these bytes differ."""


@dataclass(frozen=True, slots=True)
class ModuleRuns:
    """What a C module of `optimize --emit c` did on this machine."""

    source: str
    sanitized: bool
    """Compiled with AddressSanitizer and UndefinedBehaviorSanitizer."""
    runs: int
    ports: tuple[PortBytes, ...]
    """Every output of the model, in its order; none if the module did not run."""
    selftest: int
    """How many bytes its own stored inference gets wrong."""
    failure: str = ""
    """Why it did not run to its end."""

    @property
    def bit_exact(self) -> bool:
        return not self.failure and not self.selftest and not any(port.different for port in self.ports)


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
    module: ModuleRuns | None = None
    """When a C module was to be verified as well."""
    planned_for: str = ""
    """Whose kernels a rewritten model of builtin operators relies on, as its metadata say; "any" for all."""
    steps: int = 0
    """Inferences one after the other, with resets."""
    cores: int = 1
    """Threads that ran the rewritten model."""

    def __repr__(self) -> str:
        tried = f"{self.runs} random, {self.extremes} extreme and {self.files} given inputs"
        return f"<Verification: {'bit-exact' if self.bit_exact else 'DIFFERENT'}, {tried}, {self.how}>"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def verify(
    original: GivenModel,
    rewritten: GivenModel,
    *,
    runs: int = 10,
    seed: int = 0,
    inputs: Sequence[Array] = (),
    steps: Steps = NO_STEPS,
    how: How | None = None,
    c: Path | None = None,
) -> Verification:
    """Runs both models on `runs` random inputs, three extreme ones and the user's `inputs`, compares every byte.

    `inputs`: one array per model input and inference (stimuli.from_files). `steps`: more inferences, in a row, with
    resets, for models with state; a window slides in each. `how`: for tests; by default the official wheel where it
    exists, else our own kernels. `c`: the folder, or NAME.c, of a C module of the rewritten model, compared, too.

    Raises InterfaceError when the two cannot be compared, ModelError when one cannot be read or the original does not
    run, RuntimeUnavailable when something has to be installed first, UsageError for arrays that do not fit.
    """
    how, module = how or (TFLM_WHEEL if wheel.exists_here() else HOST_REFERENCE), c_module.find(c) if c else None
    (original, *_), (rewritten, *_) = loaded(original), loaded(rewritten)
    before, after = read(original), _alone(read(rewritten))
    seen, changes = interfaces(before, after, steps.cores)
    new = step_elements(after.graph, changes.input)
    cases = cases_of(before.graph, seen, changes, runs=runs, seed=seed, files=inputs, steps=steps, new=new)
    asked = stand_in.runnable(original), stand_in.runnable(rewritten)
    old, fed = [case.original for case in cases], [case.rewritten for case in cases]
    jobs = Job(asked[0], before.graph, old), Job(asked[1], seen, fed, changes.input, steps.cores)
    expected, got = _execute(how, *jobs)
    ran = not got.failure
    guarded, failure = guarded_runs(after, _watched(fed, runs), seed) if ran else (0, got.failure)
    difference = first_difference(before.graph, changes, cases, expected, got) if ran else None
    in_c = _run_module(module, after, before.graph, changes, cases, expected) if module else None
    return Verification(
        bit_exact=not failure and difference is None and (in_c is None or in_c.bit_exact),
        runs=runs,
        extremes=len(EXTREMES),
        files=len(cases) - runs - len(EXTREMES) - steps.count,
        steps=steps.count,
        guarded=guarded,
        seed=seed,
        how=how,
        measured=_measured(expected, got, as_they_are=asked == (original, rewritten)),
        difference=difference,
        failure=failure,
        module=in_c,
        planned_for=changes.kernels,
        cores=steps.cores,
    )


def _measured(expected: Outcome, got: Outcome, *, as_they_are: bool) -> Measured | None:
    """Both arenas, where both were counted and the models that ran are those that were given."""
    return Measured(expected.arena, got.arena) if expected.arena and got.arena and as_they_are else None


def _watched(runs: Sequence[Run], drawn: int) -> list[Sequence[Array]]:
    """What the watched executor gets: the last random input, and the extreme ones."""
    return [run.values for run in runs[max(drawn - 1, 0) :][: 1 + len(EXTREMES)]]


def crossing(model: Model) -> list[ProgramOp]:
    """The operators of a device that send and receive."""
    return [op for region in regions(model) for op in unpack(region.program).ops if op.crossing]


def _alone(model: Model) -> Model:
    """The same. Raises UsageError for one that waits for other devices."""
    try:
        waits = bool(crossing(model))
    except ModelError:  # a program that TFLM's operator refuses, and says why
        return model
    if waits:
        hint = "verify the folder of all"
        raise UsageError("this is the model of one of several devices", code="verify_device", hint=hint)
    return model


def _runs_on(after: Model, cores: int) -> None:
    """Raises UsageError for two cores and a model that is made for one."""
    if cores > 1 and not any(unpack(region.program).cores for region in regions(after)):
        hint = "optimize --cores 2, or verify without --cores"
        raise UsageError("no part of the rewritten model is made for two cores", code="verify_cores", hint=hint)


def interfaces(before: Model, after: Model, cores: int = 1) -> tuple[Graph, Changes]:
    """The rewritten model with its input whole, and how its interface differs. Raises InterfaceError, and UsageError as
    _runs_on().
    """
    _runs_on(after, cores)
    changes = interface.changes_of(interface.metadata(after.tree, interface.METADATA))
    seen = interface.with_whole_input(before.graph, after.graph, changes)
    interface.compare(before.graph, seen, changes)
    return seen, changes


def _execute(how: How, original: Job, rewritten: Job) -> tuple[Outcome, Outcome]:
    """Run both. Raises ModelError when the original does not run."""
    execute = under_tflm if how == TFLM_WHEEL else on_host
    expected, got = execute(original, rewritten)
    demand(expected)
    return expected, got


def demand(expected: Outcome) -> None:
    """The original has to run."""
    if expected.failure:
        raise ModelError(
            f"the original model does not run: {expected.failure}",
            code="original_does_not_run",
            hint="inspect says what TFLM refuses; else it lacks an operator of the model, or its kernel some type",
        )


def _run_module(
    module: c_module.Sources, after: Model, graph: Graph, changes: Changes, cases: Sequence[Case], expected: Outcome
) -> ModuleRuns:
    """graph: the original's. expected: what it gave."""
    got = c_module.run(module, after, changes.input, [case.rewritten for case in cases])
    back = each({change.index: change for change in changes.outputs}, convert.backward)
    ports = []
    for k, b in enumerate(got.outputs):
        before, now = (
            np.ascontiguousarray(v).view(np.uint8) for v in (expected.outputs[k], back[k](b) if k in back else b)
        )
        ports.append(PortBytes(k, graph.tensors[graph.outputs[k]].name, before.size, int((before != now).sum())))
    return ModuleRuns(str(module.source), got.sanitized, len(cases), tuple(ports), got.selftest, got.failure)


def sample(original: bytes, rewritten: bytes, *, seed: int = 0) -> Sample:
    """One random inference of both models, in the rewritten one's formats; of several, one whose outputs tell the ports
    of the model apart, if one does; of a model that keeps a state, the first. Raises as verify() does, and ModelError
    when the two differ.
    """
    before, after = read(original), read(rewritten)
    changes = interface.changes_of(interface.metadata(after.tree, interface.METADATA))
    seen = interface.with_whole_input(before.graph, after.graph, changes)
    drawn, swaps = telling.runs(before.graph, inputs_of(before.graph, seen, changes), seen.outputs, seed)
    cases = of_rewritten(changes, drawn)
    execute = under_tflm if wheel.exists_here() else on_host
    expected, got = execute(
        Job(stand_in.runnable(original), before.graph, [case.original for case in cases]),
        Job(stand_in.runnable(rewritten), seen, [case.rewritten for case in cases], changes.input),
    )
    failure = expected.failure or got.failure
    if failure or first_difference(before.graph, changes, cases, expected, got):
        hint = "verify both models; please report it if they differ"
        raise ModelError(f"no inference to store: {failure or 'the outputs differ'}", code="no_sample", hint=hint)
    best = 0 if telling.keeps_state(before) else telling.best(swaps, seen.outputs, got.outputs)
    inputs, outputs = cases[best].rewritten.values, [output[best] for output in got.outputs]
    return Sample(tuple(v.tobytes() for v in inputs), tuple(v.tobytes() for v in outputs))
