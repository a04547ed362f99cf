"""Runs two models, and verifies that both models compute the same output bytes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tflm_memopt.answers.optimized import Sample
from tflm_memopt.errors import ModelError, UsageError
from tflm_memopt.files import GivenModel, for_reports, loaded
from tflm_memopt.lower.program import ProgramOp
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.model import interface
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import Model, read
from tflm_memopt.runtime import c_module, convert, stand_in, telling, wheel
from tflm_memopt.runtime.cases import (
    Case,
    Difference,
    Job,
    cases_of,
    each,
    example_of,
    first_difference,
    further_cases,
    inputs_of,
    of_rewritten,
    on_host,
    under_tflm,
)
from tflm_memopt.runtime.guard import guarded_runs
from tflm_memopt.runtime.process import Outcome
from tflm_memopt.runtime.regions import demand_sound, regions
from tflm_memopt.runtime.stimuli import EXTREMES, NO_STEPS, Array, Steps
from tflm_memopt.runtime.verification import (
    HOST_REFERENCE,
    TFLM_WHEEL,
    How,
    Measured,
    ModuleRuns,
    PortBytes,
    Verification,
)
from tflm_memopt.runtime.windows import step_elements

SECONDS = 2.0
"""Time in seconds for all runs of a model, if the user does not set the number of runs."""
LEAST_RUNS = 10
"""Minimum number of inferences with random inputs, without regard to the time limit."""
MOST_CASES = 10_000
MOST_BYTES = 64_000_000
"""All runs of a model together have at most MOST_BYTES bytes of inputs and outputs."""


def verify(
    original: GivenModel,
    rewritten: GivenModel,
    *,
    runs: int | None = None,
    seed: int = 0,
    inputs: Sequence[Array] = (),
    steps: Steps = NO_STEPS,
    how: How | None = None,
    c: Path | None = None,
) -> Verification:
    """Run both models on random inputs, extreme inputs and the user's inputs, and compare all output bytes.

    The docstring of convert.verify.verify() explains the parameters and errors.
    """
    how = how or (TFLM_WHEEL if wheel.exists_here() else HOST_REFERENCE)
    module = c_module.find(c) if c else None
    (original, *_), (rewritten, *_) = loaded(original), loaded(rewritten)
    before, after = (_sound(data) for data in (original, rewritten))
    _demand_one_device(after)
    seen, changes = interfaces(before, after, steps.cores)
    asked = stand_in.runnable(original), stand_in.runnable(rewritten)
    execute = under_tflm if how == TFLM_WHEEL else on_host
    threads = (steps.cores,) if steps.cores else (1, 2) if _is_for_two_cores(after) else (1,)
    pair = Pair(execute, *asked, before.graph, seen, changes, threads)
    drawn, new = LEAST_RUNS if runs is None else runs, step_elements(after.graph, changes.input)
    cases = cases_of(before.graph, seen, changes, runs=drawn, seed=seed, files=inputs, steps=steps, new=new)
    first = pair.run(cases)
    watched = cases[max(drawn - 1, 0) :][: 1 + len(EXTREMES)]  # one random and all extreme inputs are checked
    guarded, failure = 0, _of_rewritten(first.failure)
    if not failure:
        guarded, failure = guarded_runs(after, [case.rewritten.values for case in watched], seed)
    right = not (failure or first.difference)
    last, more, every = pair.go_on(first, drawn, seed) if runs is None and right else (first, 0, 0)
    return Verification(
        runs=drawn + more - every,
        every_value=every,
        extremes=len(EXTREMES),
        files=len(cases) - drawn - len(EXTREMES) - steps.count,
        steps=steps.count,
        guarded=guarded,
        seed=seed,
        how=how,
        measured=first.measured if asked == (original, rewritten) else None,
        difference=last.difference,
        failure=failure or _of_rewritten(last.failure),
        module=_run_module(module, after, before.graph, changes, cases, first.expected) if module else None,
        planned_for=changes.kernels,
        threads=threads,
    )


def _of_rewritten(failure: str) -> str:
    return failure and f"the rewritten model {failure}"


@dataclass(frozen=True, slots=True)
class Outcomes:
    count: int
    expected: Outcome
    got: tuple[Outcome, ...]
    difference: Difference | None
    nbytes: int

    @property
    def failure(self) -> str:
        return next((outcome.failure for outcome in self.got if outcome.failure), "")

    @property
    def left(self) -> int:
        seconds = max(outcome.seconds for outcome in (self.expected, *self.got))
        most = min(SECONDS / max(seconds, 1e-9), MOST_BYTES / max(self.nbytes, 1)) * self.count
        return max(0, min(int(most), MOST_CASES) - self.count)

    @property
    def measured(self) -> Measured | None:
        before, after = self.expected.arena, self.got[0].arena
        return Measured(before, after) if before and after else None


@dataclass(frozen=True, slots=True)
class Pair:
    execute: Callable[..., Iterable[Outcome]]
    original: bytes
    rewritten: bytes
    before: Graph
    seen: Graph
    changes: Changes
    threads: tuple[int, ...]

    def run(self, cases: Sequence[Case], done: int = 0) -> Outcomes:
        """Raises ModelError if the original model does not run."""
        fed = [case.rewritten for case in cases]
        jobs = [Job(self.rewritten, self.seen, fed, self.changes.input, count) for count in self.threads]
        given = [case.original for case in cases]
        expected, *got = self.execute(Job(self.original, self.before, given), *jobs)
        demand(expected)
        nbytes = sum(value.nbytes for run in given for value in run.values) + sum(v.nbytes for v in expected.outputs)
        differences = (first_difference(self.before, self.changes, cases, expected, g) for g in got if not g.failure)
        found = next((replace(d, run=done + d.run) for d in differences if d), None)
        return Outcomes(len(cases), expected, tuple(got), found, nbytes)

    def go_on(self, first: Outcomes, drawn: int, seed: int) -> tuple[Outcomes, int, int]:
        """Run more test cases until the time limit. The argument `drawn` is the number of earlier random inferences.

        Return the outcomes, the number of added cases, and the number of added cases that every_value() made. If no
        time is left, return the outcomes `first`.
        """
        cases, every = further_cases(self.before, self.seen, self.changes, done=drawn, count=first.left, seed=seed)
        return self.run(cases, first.count) if cases else first, len(cases), every


def message(model: Model) -> list[ProgramOp]:
    """Return the operators of a device's model that send or receive rows."""
    return [op for region in regions(model) for op in unpack(region.program).ops if op.message]


def _sound(data: bytes) -> Model:
    model = read(data)
    demand_sound(model)
    return model


def _demand_one_device(model: Model) -> None:
    if message(model):
        hint = "verify the folder with the models of all devices"
        raise UsageError("this is the model of one of several devices", code="other_model", hint=hint)


def _is_for_two_cores(model: Model) -> bool:
    return any(unpack(region.program).cores for region in regions(model))


def interfaces(before: Model, after: Model, cores: int | None = None) -> tuple[Graph, Changes]:
    """Return the rewritten graph with its whole input in the arena, and the changes of its inputs and outputs.

    Raises InterfaceError. Raises UsageError if two cores were requested for a model that is made for one core.
    """
    if cores == 2 and not _is_for_two_cores(after):
        hint = "optimize --cores 2, or verify without --cores"
        raise UsageError("no part of the rewritten model is made for two cores", code="other_model", hint=hint)
    changes = interface.changes_of(interface.metadata(after.tree, interface.METADATA))
    seen = interface.with_whole_input(before.graph, after.graph, changes)
    interface.compare(before.graph, seen, changes)
    return seen, changes


def demand(expected: Outcome) -> None:
    if expected.failure:
        raise ModelError(
            f"the original {expected.failure}",
            code="tflm_refuses",
            hint="inspect names operators and types that TFLM refuses; convert the model again without them",
        )


def _run_module(
    module: c_module.Sources, after: Model, graph: Graph, changes: Changes, cases: Sequence[Case], expected: Outcome
) -> ModuleRuns:
    got = c_module.run(module, after, changes.input, [case.rewritten for case in cases])
    back = each(changes.outputs, convert.backward)
    ports = []
    for k, b in enumerate(got.outputs):
        before, now = (
            np.ascontiguousarray(v).view(np.uint8) for v in (expected.outputs[k], back[k](b) if k in back else b)
        )
        ports.append(PortBytes(k, graph.tensors[graph.outputs[k]].name, before.size, int((before != now).sum())))
    return ModuleRuns(
        str(for_reports(module.source)), got.sanitized, len(cases), tuple(ports), got.selftest, got.failure
    )


def sample(original: bytes, rewritten: bytes, *, seed: int = 0, inputs: Sequence[Array] = ()) -> Sample:
    """Run both models, and return the inputs and outputs of one inference, in the formats of the rewritten model.

    The inference reads the first input in the user's arrays `inputs`, or random inputs if there are no arrays. Random
    inputs are chosen so that, if possible, an exchange of two inputs changes the outputs. Raises the errors of
    verify(), and ModelError if the outputs of the models differ.
    """
    before = read(original)
    seen, changes = interfaces(before, read(rewritten))
    if inputs:
        swaps: telling.Swaps = {0: ()}
        cases = [example_of(before.graph, seen, changes, inputs)]
    else:
        drawn, swaps = telling.runs(before.graph, inputs_of(before.graph, seen, changes), seen.outputs, seed)
        cases = of_rewritten(changes, drawn)
    execute = under_tflm if wheel.exists_here() else on_host
    expected, got = execute(
        Job(stand_in.runnable(original), before.graph, [case.original for case in cases]),
        Job(stand_in.runnable(rewritten), seen, [case.rewritten for case in cases], changes.input),
    )
    demand(expected)
    if got.failure or first_difference(before.graph, changes, cases, expected, got):
        hint = "please report it, with the model if you can"
        what = f"the rewritten model {got.failure or 'puts out other bytes than the original'}"
        raise ModelError(what, code="tflm_refuses", hint=hint)
    best = 0 if telling.keeps_state(before) else telling.best(swaps, seen.outputs, got.outputs)
    fed, outputs = cases[best].rewritten.values, [output[best] for output in got.outputs]
    return Sample(tuple(v.tobytes() for v in fed), tuple(v.tobytes() for v in outputs), real=bool(inputs))
