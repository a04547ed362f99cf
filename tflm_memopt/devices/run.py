"""Runs a network on several simulated devices, which are processes linked by loopback streams."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tflm_memopt.devices import device
from tflm_memopt.runtime import own, worker
from tflm_memopt.runtime.process import RecordedArena, environment, failure, recorded

PATIENCE = 10_000
"""Maximum number of milliseconds for which the process of a device waits for a row."""
SLACK = 60
"""A process is killed SLACK seconds after the timeouts of all its inferences have passed."""


@dataclass(frozen=True, slots=True)
class DeviceRun:
    sent: int
    received: int
    statuses: tuple[int, ...]
    arena: RecordedArena
    milliseconds: tuple[float, ...]
    """Time of each inference including waits, measured on the computer that runs the simulation."""


@dataclass(frozen=True, slots=True)
class DevicesRun:
    outputs: tuple[NDArray[Any], ...]
    devices: tuple[DeviceRun, ...]
    failure: str = ""
    """Reason why a device's process ended too early, or "" after success."""


def run_devices(models: Sequence[Path], inputs: Sequence[NDArray[Any]], runs: int, outputs: int) -> DevicesRun:
    """Run `runs` inferences with a process for each model. The value of input k in inference r is `inputs[k][r]`."""
    with tempfile.TemporaryDirectory(prefix="tflm-memopt-") as name, contextlib.ExitStack() as ending:
        folder = Path(name)
        worker.save(folder / worker.INPUTS, inputs)
        own.build(folder)
        processes = []
        for number, model in enumerate(models):
            asked = {"device": number, "model": str(model.resolve()), "runs": runs, "patience": PATIENCE}
            asked |= {"folder": name, "outputs": outputs if number == 0 else 0}
            processes.append(ending.enter_context(_started(asked)))
        ports = [int(p.stdout.readline() or 0) if p.stdout else 0 for p in processes]
        for process in processes if all(ports) else ():
            print(json.dumps(ports), file=process.stdin, flush=True)
        done = [_said(process, runs * PATIENCE / 1000 + SLACK) for process in processes]
        for number, (process, said) in enumerate(zip(processes, done, strict=True)):
            if process.returncode:
                return DevicesRun((), (), f"device {number} {failure(process.returncode, said)}")
        return DevicesRun(tuple(worker.load(folder / worker.OUTPUTS)), tuple(map(_run, done)))


@contextlib.contextmanager
def _started(asked: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", device.__name__, json.dumps(asked)]
    process = subprocess.Popen(
        command, cwd=os.sep, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,  # Ctrl-C must reach only the calling process.
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _said(process: subprocess.Popen[str], seconds: float) -> str:
    try:
        return process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]


def _run(said: str) -> DeviceRun:
    result = json.loads(next(line for line in reversed(said.splitlines()) if line.startswith("{")))
    return DeviceRun(
        result["sent"], result["received"], tuple(result["statuses"]), recorded(said), tuple(result["milliseconds"])
    )
