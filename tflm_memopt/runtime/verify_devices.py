"""Verify that several devices together compute the same outputs as the original model, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.analysis.lines import LineSpeed
from tflm_memopt.errors import UsageError
from tflm_memopt.files import GivenModel, loaded, read_model
from tflm_memopt.lower.program import ProgramOp
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import stand_in
from tflm_memopt.runtime.cases import Difference, Job, cases_of, first_difference, under_tflm
from tflm_memopt.runtime.devices import PATIENCE, DeviceRun, run_devices
from tflm_memopt.runtime.process import Outcome
from tflm_memopt.runtime.verify import LEAST_RUNS, crossing, demand, interfaces


@dataclass(frozen=True, slots=True)
class DevicesVerification:
    """The result of `verify` for several devices."""

    bit_exact: bool
    runs: int
    """Number of random, extreme and given inputs."""
    seed: int
    devices: tuple[DeviceRun, ...]
    difference: Difference | None = None
    failure: str = ""

    @property
    def answer(self) -> str:
        """The result in a few words."""
        return f"no difference in {self.runs:,} runs" if self.bit_exact else "DIFFERENT"

    def to_json(self) -> dict[str, Any]:
        """Return all fields for JSON."""
        return {"answer": self.answer, **asdict(self)}


def verify_devices(
    original: GivenModel,
    models: Sequence[Path],
    *,
    runs: int | None = None,
    seed: int = 0,
    inputs: Sequence[NDArray[Any]] = (),
    patience: int = PATIENCE,
    line: LineSpeed | None = None,
) -> DevicesVerification:
    """Run the original and the models of all devices, each in a process that has only its own file.

    models: the files in order of device number. runs: number of random inputs, or None for 10. seed, inputs: as in
    verify(). patience: timeout in milliseconds for a row from one device to another. line: speed of each link between
    two devices, or None for the speed of loopback.

    Raises the errors of verify(), and UsageError unless all models belong to one conversion.
    """
    data, *_ = loaded(original)
    before, devices = read(data), [read(read_model(model)) for model in models]
    _demand_together([crossing(one) for one in devices])
    after = devices[0]
    seen, changes = interfaces(before, after)
    drawn = LEAST_RUNS if runs is None else runs
    cases = cases_of(before.graph, seen, changes, runs=drawn, seed=seed, files=inputs)
    (expected,) = under_tflm(Job(stand_in.runnable(data), before.graph, [case.original for case in cases]))
    demand(expected)
    fed = [np.stack(values) for values in zip(*(case.rewritten.values for case in cases), strict=True)]
    got = run_devices(models, fed, len(cases), len(seen.outputs), patience=patience, line=line)
    failure = got.failure or _failure(got.devices)
    difference = None if failure else first_difference(before.graph, changes, cases, expected, Outcome(got.outputs))
    return DevicesVerification(
        bit_exact=not failure and difference is None,
        runs=len(cases),
        seed=seed,
        devices=got.devices,
        difference=difference,
        failure=failure,
    )


def _demand_together(devices: Sequence[Sequence[ProgramOp]]) -> None:
    """Raise UsageError unless the models are those of all devices of one conversion, in order.

    devices: for each device, the operators that send and receive.
    """
    hint, there = "the folder as optimize --devices has written it", range(len(devices))
    crossings = [(number, op.crossing) for number in there for op in devices[number] if op.crossing]
    for number, crosses in crossings:
        if crosses.identity != crossings[0][1].identity:
            raise UsageError(
                f"the models of devices {crossings[0][0]} and {number} are of two conversions",
                code="other_model",
                hint="optimize --devices into an empty folder",
            )
    if missing := {end for _, c in crossings for end in (c.sender, c.receiver)} - {*there}:
        raise UsageError(f"the model of device {min(missing)} is missing", code="other_model", hint=hint)
    for number in there if len(devices) > 1 else ():
        if {op.device for op in devices[number]} != {number}:
            raise UsageError(f"the model of device {number} is not that device's", code="other_model", hint=hint)


def _failure(devices: Sequence[DeviceRun]) -> str:
    """Describe the first inference that failed, or return ""."""
    for number, device in enumerate(devices):
        for run, status in enumerate(device.statuses):
            if status:
                return f"device {number}: inference {run} ended with status {status}"
    return ""
