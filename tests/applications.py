"""Runs several interpreters on one MicroAllocator, in any order, and compares their outputs with TFLM's wheel."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from adapter import linked
from conftest import ROOT
from numpy.typing import NDArray

from tflm_memopt import AppModel
from tflm_memopt.apps.header import excluded
from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.process import run_model

SEED = 23


@dataclass(frozen=True)
class Machine:
    binary: Path
    folder: Path

    def run(
        self, result: AppOptimized, order: Sequence[int], inputs: Mapping[str, bytes]
    ) -> tuple[dict[str, bytes], int]:
        head = result.report.arena.head
        gaps = np.ones(head, np.uint8)
        for done in result.models.values():
            for buffer, at in done.plan.placed() if done.plan else ():
                gaps[at : at + buffer.nbytes] = 0
        (self.folder / "order").write_bytes(bytes(order))
        (self.folder / "gaps").write_bytes(gaps.tobytes())
        (self.folder / "excluded").write_bytes(np.array(excluded(result), "<u4").T.tobytes())
        command = [str(self.binary), "order", "gaps", "excluded", str(4 * result.report.arena.total + 8192), str(head)]
        for name, done in result.models.items():
            (self.folder / f"{name}.tflite").write_bytes(done.model)
            (self.folder / f"{name}.in").write_bytes(inputs[name])
            how = 2 * bool(done.plan and done.plan.pauses) + bool(result.app.models[name].retain)
            command += [f"{name}.tflite", f"{name}.in", f"{name}.out", str(how)]
        ran = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, f"{ran.returncode}: {ran.stdout}{ran.stderr}"
        return {name: (self.folder / f"{name}.out").read_bytes() for name in result.models}, int(ran.stdout.split()[1])


def built(build: Path, tflm: Any) -> Machine:
    return Machine(linked(ROOT / "tests/tflm/apps_main.cpp", tflm, build), build)


def original(entry: AppModel) -> bytes:
    return entry.model if isinstance(entry.model, bytes) else Path(str(entry.model)).read_bytes()


def random_inputs(data: bytes, runs: int, rng: np.random.Generator) -> list[NDArray[Any]]:
    graph = read(data).graph
    inputs = [graph.tensors[t] for t in graph.inputs]
    return [rng.integers(-128, 128, (runs, *t.shape)).astype(t.dtype.lower()) for t in inputs]


def calls_per_inference(result: AppOptimized, name: str) -> int:
    plan, frame = result.models[name].plan, result.models[name].report.source
    if plan and plan.pauses:
        return len(plan.pauses) + 1
    return frame.rows // frame.pushed if frame and frame.pushed else 1


def compare(
    machine: Machine, result: AppOptimized, order: Sequence[int], runs: Mapping[str, int], seed: int = SEED
) -> int:
    """Run random inferences of each model, compare the outputs with TFLM's outputs, and return the number of refused
    calls.
    """
    rng = np.random.default_rng(seed)
    inputs, expected = {}, {}
    for name, entry in result.app.models.items():
        data = original(entry)
        values = random_inputs(data, runs[name], rng)
        inputs[name] = b"".join(value.tobytes() for run in zip(*values, strict=True) for value in run)
        today = run_model(data, values, runs[name], len(read(data).graph.outputs))
        assert not today.failure
        expected[name] = b"".join(o[r].tobytes() for r in range(runs[name]) for o in today.outputs)
    got, refused = machine.run(result, order, inputs)
    for name in got:
        assert len(got[name]) == len(expected[name]), name
        assert got[name] == expected[name], f"{name}, seed {seed}"
    return refused


def interleaved(result: AppOptimized, steps: int, seed: int = SEED) -> tuple[list[int], dict[str, int]]:
    rng = np.random.default_rng(seed)
    names = list(result.models)
    left = {name: steps // len(names) // calls_per_inference(result, name) or 1 for name in names}
    turns = [i for i, name in enumerate(names) for _ in range(left[name] * calls_per_inference(result, name))]
    return rng.permutation(turns).tolist(), left
