"""Are several devices together the same function as the original model, byte for byte?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.analysis.lines import LineSpeed
from tflm_memopt.files import GivenModel, loaded
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import stand_in
from tflm_memopt.runtime.cases import Difference, Job, cases_of, first_difference, under_tflm
from tflm_memopt.runtime.devices import PATIENCE, DeviceRun, run_devices
from tflm_memopt.runtime.process import Outcome
from tflm_memopt.runtime.verify import demand, interfaces


@dataclass(frozen=True, slots=True)
class DevicesVerification:
    """The answer of `verify` for several devices."""

    bit_exact: bool
    runs: int
    """Inferences: random, extreme and given inputs."""
    seed: int
    devices: tuple[DeviceRun, ...]
    difference: Difference | None = None
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def verify_devices(
    original: GivenModel,
    models: Sequence[Path],
    *,
    runs: int = 10,
    seed: int = 0,
    inputs: Sequence[NDArray[Any]] = (),
    patience: int = PATIENCE,
    line: LineSpeed | None = None,
) -> DevicesVerification:
    """Runs the original, and the models of all devices, each in a process that has its own file alone.

    models: the files, by the devices' numbers. runs, seed, inputs: as verify() has them. patience: milliseconds that a
    row may take from one device to another. line: how fast each line between two of them is; None: as loopback is.

    Raises what verify() raises.
    """
    data, *_ = loaded(original)
    before, after = read(data), read(models[0].read_bytes())
    seen, changes = interfaces(before, after)
    cases = cases_of(before.graph, seen, changes, runs=runs, seed=seed, files=inputs)
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


def _failure(devices: Sequence[DeviceRun]) -> str:
    """The first inference that ended with another status than done."""
    for number, device in enumerate(devices):
        for run, status in enumerate(device.statuses):
            if status:
                return f"device {number}: inference {run} ended with status {status}"
    return ""
