"""Run models at the same time in two threads under ThreadSanitizer. They share no data in the library."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from unit.command import long, small

from kernels.conftest import WATCHED, compiled
from tflm_memopt import App, AppModel, optimize
from tflm_memopt.lower.rewrite import programs
from tflm_memopt.model import interface
from tflm_memopt.model.names import OFFLINE_PLAN
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import host
from tflm_memopt.runtime.regions import OFFLINE_HEADER, regions

RUNS, SEED = 50, 37
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pairs") / "pairs"
    return compiled(WATCHED, "pairs.c", made)


def run(binary: Path, models: list[bytes], originals: list[bytes], nbytes: int) -> subprocess.CompletedProcess[str]:
    rng, folder = np.random.default_rng(SEED), binary.parent
    command = ["setarch", "-R", str(binary), str(RUNS), str(nbytes)]
    for i, (data, original) in enumerate(zip(models, originals, strict=True)):
        model, graph = read(data), read(original).graph
        (program,), (region,) = programs(model.graph), regions(model)
        plan = interface.metadata(model.tree, OFFLINE_PLAN)
        assert plan is not None and region.workspace is not None
        offsets = np.frombuffer(plan, "<i4")[OFFLINE_HEADER:]
        x = rng.integers(-128, 128, graph.tensors[graph.inputs[0]].shape, dtype=np.int8)
        (y,) = host.run(program, [x], [graph.tensors[graph.outputs[0]].nbytes])
        for name, content in (("program", program), ("in", x.tobytes()), ("out", y.tobytes())):
            (folder / f"{i}.{name}").write_bytes(content)
            command.append(str(folder / f"{i}.{name}"))
        command += [str(offsets[t]) for t in (region.inputs[0], region.outputs[0], region.workspace)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_no_byte_is_shared(binary: Path) -> None:
    originals = [small(), long()]
    models = {"one": AppModel(originals[0]), "two": AppModel(originals[1])}
    result = optimize(App(models, (("one", "two"),), options={"effort": "low", "seconds": 0.2}))
    done = run(binary, [result.models[name].model for name in models], originals, result.report.arena.head)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == ["0", "0"]


def test_bytes_that_are_shared_are_seen(binary: Path) -> None:
    """This shows that the test above can fail."""
    originals = [small(), long()]
    alone = [optimize(data, effort="low", seconds=0.2) for data in originals]
    done = run(binary, [one.model for one in alone], originals, max(one.report.arena.head for one in alone))
    assert done.returncode != 0
    assert "data race" in done.stderr
