"""Verifies that several devices together compute the outputs of the original model, byte for byte."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflm_memopt.convert import annotation
from tflm_memopt.convert.constants import compare_devices
from tflm_memopt.convert.verify import demand_kernels
from tflm_memopt.devices.run import DeviceRun, run_devices
from tflm_memopt.errors import UsageError
from tflm_memopt.files import GivenModel, loaded, read_model
from tflm_memopt.lower.program import ProgramOp
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import stand_in
from tflm_memopt.runtime.cases import Difference, Job, cases_of, under_tflm
from tflm_memopt.runtime.process import Outcome
from tflm_memopt.runtime.regions import demand_sound
from tflm_memopt.runtime.verification import ComparedConstants
from tflm_memopt.runtime.verify import LEAST_RUNS, Pair, interfaces, message


@dataclass(frozen=True, slots=True)
class DevicesVerification:
    bit_exact: bool
    runs: int
    """Number of test inputs of all kinds: random inputs, extreme inputs, the user's inputs, and inputs in which each
    byte takes every value.
    """
    seed: int
    devices: tuple[DeviceRun, ...]
    difference: Difference | None = None
    failure: str = ""
    constants: ComparedConstants | None = None

    @property
    def answer(self) -> str:
        return f"no difference in {self.runs:,} runs" if self.bit_exact else "DIFFERENT"

    def to_json(self) -> dict[str, Any]:
        return {"answer": self.answer, **asdict(self)}


def verify_devices(
    original: GivenModel,
    models: Sequence[Path],
    *,
    runs: int | None = None,
    seed: int = 0,
    inputs: Sequence[NDArray[Any]] = (),
) -> DevicesVerification:
    """Run the original model and the models of all devices, and compare outputs and constants.

    Each model runs in its own process. The argument `models` has the path of each device's model. The argument `runs`
    is the number of random inputs. The argument `seed` is the seed of the random inputs. The argument `inputs` has an
    array for each input of the model. Several inferences may be stacked along the first axis. Raises UsageError if the
    models come from several conversions. Raises the errors of verify().
    """
    data = loaded(original).data
    before, devices = read(data), [read(read_model(model)) for model in models]
    annotation.make_kernels(before)
    for one in devices:
        demand_kernels(one)
        demand_sound(one)
    _demand_together([message(one) for one in devices])
    seen, changes = interfaces(before, devices[0])
    drawn = LEAST_RUNS if runs is None else runs

    ran: list[tuple[DeviceRun, ...]] = []

    def execute(alone: Job, together: Job) -> Iterator[Outcome]:
        yield from under_tflm(alone)
        got = run_devices(models, together.stacks(), len(together.fed), len(seen.outputs))
        ran.append(got.devices)
        seconds = max((sum(device.milliseconds) / 1000 for device in got.devices), default=0.0)
        yield Outcome(got.outputs, failure=got.failure or _failure(got.devices), seconds=seconds)

    pair = Pair(execute, stand_in.runnable(data), b"", before.graph, seen, changes, threads=(1,))
    cases = cases_of(before.graph, seen, changes, runs=drawn, seed=seed, files=inputs)
    first = pair.run(cases)
    right = not (first.failure or first.difference)
    last, more, _ = pair.go_on(first, drawn, seed) if runs is None and right else (first, 0, 0)
    constants = compare_devices(before, devices, changes)
    return DevicesVerification(
        bit_exact=not (last.failure or last.difference or constants.different),
        runs=len(cases) + more,
        seed=seed,
        devices=tuple(map(_both, *ran)) if len(ran) > 1 else ran[0],
        difference=last.difference,
        failure=last.failure,
        constants=constants,
    )


def _both(first: DeviceRun, then: DeviceRun) -> DeviceRun:
    return DeviceRun(
        first.sent + then.sent,
        first.received + then.received,
        first.statuses + then.statuses,
        first.arena,
        first.milliseconds + then.milliseconds,
    )


def _demand_together(devices: Sequence[Sequence[ProgramOp]]) -> None:
    """Raise UsageError if models come from different conversions or if some of the models are missing."""
    hint, there = "use the folder as optimize --devices has written it", range(len(devices))
    messages = [(number, op.message) for number in there for op in devices[number] if op.message]
    for number, sent in messages:
        if sent.identity != messages[0][1].identity:
            raise UsageError(
                f"the models of devices {messages[0][0]} and {number} come from two conversions",
                code="other_model",
                hint="run optimize --devices with an empty folder",
            )
    if missing := {end for _, m in messages for end in (m.sender, m.receiver)} - {*there}:
        raise UsageError(f"the model of device {min(missing)} is missing", code="other_model", hint=hint)
    for number in there if len(devices) > 1 else ():
        if {op.device for op in devices[number]} != {number}:
            raise UsageError(f"the model of device {number} belongs to another device", code="other_model", hint=hint)


def _failure(devices: Sequence[DeviceRun]) -> str:
    for number, device in enumerate(devices):
        for run, status in enumerate(device.statuses):
            if status:
                return f"device {number}: inference {run} ended with status {status}"
    return ""
