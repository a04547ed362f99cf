"""Run models between guard bytes under TFLM of spring and autumn 2023, with expected bytes from the official wheel."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from adapter import linked
from conftest import OWN_MODELS, ROOT, optimized
from numpy.typing import NDArray
from projects import TFLM, needs_host
from tflm.region_model import IN, OUT, expected, region_model

from tflm_memopt import optimize
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.process import run_model
from tflm_memopt.runtime.stimuli import stimuli

SEED = 11

pytestmark = [pytest.mark.slow, needs_host]


RUNNABLE = [
    pytest.param(tflm, path, id=f"{tflm.name}-{path.stem}")
    for tflm in TFLM["AGES"]
    for path in OWN_MODELS
    if tflm is not TFLM["AUTUMN"] or all(op.type != "VAR_HANDLE" for op in read(path.read_bytes()).graph.ops)
]
"""TFLM of autumn 2023 crashes in ASSIGN_VARIABLE."""


@dataclass(frozen=True)
class Adapter:
    binary: Path
    scratch: Path
    tflm: Any

    def run(
        self, model: bytes, inputs: Sequence[NDArray[Any]], arena: int, *mode: object
    ) -> subprocess.CompletedProcess[str]:
        (self.scratch / "model").write_bytes(model)
        (self.scratch / "inputs").write_bytes(
            b"".join(value.tobytes() for run in zip(*inputs, strict=True) for value in run)
        )
        files = [str(self.scratch / name) for name in ("model", "inputs", "outputs")]
        command = [self.binary, *files, str(arena), *map(str, mode)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def outputs(self) -> bytes:
        return (self.scratch / "outputs").read_bytes()


@pytest.fixture(scope="session", params=TFLM["AGES"], ids=lambda tflm: tflm.name)
def adapter(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Adapter:
    build = tmp_path_factory.mktemp("adapter")
    return Adapter(linked(Path(__file__).with_name("adapter_main.cpp"), request.param, build), build, request.param)


def test_same_bytes_as_in_the_wheel(adapter: Adapter) -> None:
    x = np.random.default_rng(SEED).integers(-128, 128, (9, *IN), dtype=np.int8)
    done = adapter.run(region_model(), [x], 4096)
    assert done.returncode == 0, done.stderr
    got = np.frombuffer(adapter.outputs(), np.int8).reshape(9, *OUT)
    today = run_model(region_model(), [x], 9, 1)
    np.testing.assert_array_equal(got, today.outputs[0], err_msg=f"seed {SEED}")
    np.testing.assert_array_equal(got, np.stack([expected(value) for value in x]), err_msg=f"seed {SEED}")


@pytest.mark.parametrize(("adapter", "path"), RUNNABLE, indirect=["adapter"])
def test_rewritten_models_give_the_same_bytes_as_in_the_wheel(adapter: Adapter, path: Path) -> None:
    model = optimized(path)
    graph = read(model).graph
    runs = stimuli(graph, [graph.tensors[t] for t in graph.inputs], 2, SEED)
    inputs = [np.stack(values) for values in zip(*(run.values for run in runs), strict=True)]
    today = run_model(model, inputs, len(runs), len(graph.outputs))
    assert today.arena is not None, today.failure
    done = adapter.run(model, inputs, 2 * today.arena.total)
    assert done.returncode == 0, done.stdout + done.stderr
    expected_bytes = b"".join(output[r].tobytes() for r in range(len(runs)) for output in today.outputs)
    assert adapter.outputs() == expected_bytes, f"seed {SEED}"


@pytest.mark.parametrize("where", ["stream", "stream:4", "external"])
def test_inputs_outside_the_arena(adapter: Adapter, where: str) -> None:
    original = (ROOT / "examples/shapes/shapes_int8.tflite").read_bytes()
    model = optimize(original, input=where, seconds=0.5, without=("tiles",) if where == "stream:4" else ()).model
    graph = read(original).graph
    frames = stimuli(graph, [graph.tensors[t] for t in graph.inputs], 4, SEED)
    x = np.stack([run.values[0] for run in frames])
    today = run_model(original, [x], len(frames), 1)
    done = adapter.run(model, [x], 1 << 16, where.partition(":")[0], *x.shape[2:])
    assert done.returncode == 0, done.stdout + done.stderr
    assert adapter.outputs() == today.outputs[0].tobytes(), f"seed {SEED}"
