"""Several interpreters on one MicroAllocator, in TFLM of spring and of autumn 2023.

Whatever the order of their inferences and pushes, each gives the bytes that its original gives alone in today's wheel,
and nobody writes between their buffers.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streaming
from conftest import MODELS, ROOT
from numpy.typing import NDArray
from unit.command import pausing, small

from tflm_memopt import App, AppModel, optimize
from tflm_memopt.application.results import AppOptimized
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.process import run_model

CUSTOM_OPS = ROOT / "custom_ops"
TFLM = runpy.run_path(str(ROOT / "scripts/tflm2023.py"))
STEPS, BOTH, SEED = 1_000, 255, 23
MISSING = TFLM["missing"]() or ("" if shutil.which("g++") else "g++ is missing: apt-get install g++")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=MISSING)]
LOW: Mapping[str, Any] = {"effort": "low", "seconds": 0.2}


@dataclass(frozen=True)
class Machine:
    """The compiled program apps_main.cpp."""

    binary: Path
    folder: Path

    def run(self, result: AppOptimized, order: Sequence[int], inputs: Mapping[str, bytes]) -> dict[str, bytes]:
        """The outputs of each model."""
        head = result.report.arena.head
        gaps = np.ones(head, np.uint8)
        for done in result.models.values():
            assert done.plan is not None
            for buffer, at in done.plan.placed():
                gaps[at : at + buffer.nbytes] = 0
        (self.folder / "order").write_bytes(bytes(order))
        (self.folder / "gaps").write_bytes(gaps.tobytes())
        command = [str(self.binary), "order", "gaps", str(4 * result.report.arena.total + 8192), str(head)]
        for name, done in result.models.items():
            (self.folder / f"{name}.tflite").write_bytes(done.model)
            (self.folder / f"{name}.in").write_bytes(inputs[name])
            how = 2 if done.plan.pauses else int(bool(result.app.models[name].retain))
            command += [f"{name}.tflite", f"{name}.in", f"{name}.out", str(how)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
        return {name: (self.folder / f"{name}.out").read_bytes() for name in result.models}


@pytest.fixture(scope="session", params=TFLM["AGES"], ids=lambda tflm: tflm.name)
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Machine:
    build, tflm = tmp_path_factory.mktemp("apps"), request.param
    tmo = [f"-I{CUSTOM_OPS}/include", f"-I{CUSTOM_OPS}/tflm"]
    sources = sorted(map(str, (CUSTOM_OPS / "src").glob("*.c")))
    main = [str(Path(__file__).with_name("apps_main.cpp")), str(CUSTOM_OPS / "tflm/tmo_tflm.cpp")]
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    steps = (
        ["gcc", "-std=c11", "-O2", *tmo, "-c", *sources],
        ["g++", "-std=c++17", "-O1", *strict, *tmo, *tflm.flags, "-c", *main],
    )
    for step in steps:
        done = subprocess.run(step, cwd=build, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    objects = sorted(map(str, build.glob("*.o")))
    link = ["g++", *objects, *tflm.link, "-pthread", "-o", "apps_main"]
    done = subprocess.run(link, cwd=build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Machine(build / "apps_main", build)


def original(entry: AppModel) -> bytes:
    return entry.model if isinstance(entry.model, bytes) else Path(str(entry.model)).read_bytes()


def random_inputs(data: bytes, runs: int, rng: np.random.Generator) -> list[NDArray[Any]]:
    graph = read(data).graph
    return [rng.integers(-128, 128, (runs, *graph.tensors[t].shape), dtype=np.int8) for t in graph.inputs]


def pushes(result: AppOptimized, name: str) -> int:
    """Turns that one inference takes."""
    plan, frame = result.models[name].plan, result.models[name].report.frame
    if plan and plan.pauses:
        return len(plan.pauses) + 1
    return frame.rows // frame.pushed if frame else 1


def compare(machine: Machine, result: AppOptimized, order: Sequence[int], runs: Mapping[str, int]) -> None:
    """Whole inferences of each model: as many as `runs` says."""
    rng = np.random.default_rng(SEED)
    inputs, expected = {}, {}
    for name, entry in result.app.models.items():
        data = original(entry)
        values = random_inputs(data, runs[name], rng)
        inputs[name] = b"".join(value.tobytes() for run in zip(*values, strict=True) for value in run)
        today = run_model(data, values, runs[name], len(read(data).graph.outputs))
        assert not today.failure
        expected[name] = b"".join(o[r].tobytes() for r in range(runs[name]) for o in today.outputs)
    got = machine.run(result, order, inputs)
    for name in got:
        assert len(got[name]) == len(expected[name]), name
        assert got[name] == expected[name], f"{name}, seed {SEED}"


def interleaved(result: AppOptimized, steps: int) -> tuple[list[int], dict[str, int]]:
    """Turns in random order, and whole inferences of each model in them."""
    rng = np.random.default_rng(SEED)
    names = list(result.models)
    left = {name: steps // len(names) // pushes(result, name) or 1 for name in names}
    turns = [i for i, name in enumerate(names) for _ in range(left[name] * pushes(result, name))]
    return rng.permutation(turns).tolist(), left


def two() -> App:
    return App(
        {"camera": AppModel(small(1), {"input": "stream"}), "wake": AppModel(small(2), retain=True)}, options=LOW
    )


def three() -> App:
    models = {
        "camera": AppModel(small(1), {"input": "stream:2"}),
        "state": AppModel(streaming.mixed()),
        "wake": AppModel(small(2), retain=True),
    }
    return App(models, (("state", "wake"),), options=LOW)


@pytest.mark.parametrize("build", [two, three])
def test_a_thousand_turns_in_random_order(machine: Machine, build: Any) -> None:
    result = optimize(build())
    order, runs = interleaved(result, STEPS)
    assert len(order) > 0.9 * STEPS
    compare(machine, result, order, runs)


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_the_longer_one_pauses(machine: Machine, share: float) -> None:
    result = optimize(pausing(share))
    (one,) = result.report.pausing
    assert one.model == "long" and len(one.pauses) >= 1 / share - 1
    order, runs = interleaved(result, STEPS)
    compare(machine, result, order, runs)


def test_at_the_same_time_in_two_threads(machine: Machine) -> None:
    models = {"wake": AppModel(small(1)), "state": AppModel(streaming.mixed())}
    result = optimize(App(models, (("wake", "state"),), options=LOW))
    compare(machine, result, [BOTH], {"wake": 100, "state": 100})


def test_models_rewritten_alone_lose_bytes(machine: Machine) -> None:
    """So the tests above can fail."""
    app = two()
    together = optimize(app)
    each = {name: optimize(original(entry), **LOW, **entry.options) for name, entry in app.models.items()}
    order, runs = interleaved(together, 100)
    with pytest.raises(AssertionError):
        compare(machine, replace(together, models=each), order, runs)


def public() -> Iterator[AppModel]:
    for name in ("mlperf_tiny_kws_dscnn_int8", "mww_okay_nabu_v2", "mww_vad_v2"):
        path = MODELS / f"{name}.tflite"
        if not path.exists():
            pytest.skip("the public models are not there")
        yield AppModel(path)


def test_public_models(machine: Machine) -> None:
    models = dict(zip(("kws", "nabu", "vad"), public(), strict=True))
    result = optimize(App(models, (("nabu", "vad"),)))
    order, runs = interleaved(result, 120)
    compare(machine, result, order, runs)
