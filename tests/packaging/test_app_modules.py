"""Test C modules of `optimize app.toml --emit c`, in which several models share an arena without an interpreter."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import ported
import pytest
import streaming
from applications import interleaved, original, random_inputs
from compiling import objects
from conftest import RESNET, ROOT
from unit.command import pausing, small

from tflm_memopt import App, AppModel, optimize
from tflm_memopt.apps.module import modules
from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.emit.module import Module
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.process import run_model

LIBRARY = ROOT / "custom_ops"
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O0"]
WATCHED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
LOW: Mapping[str, Any] = {"effort": 0.05, "seconds": 0.2}
SEED, STEPS = 29, 300


@cache
def several() -> AppOptimized:
    models = {
        "camera": AppModel(small(1), {"input": "stream:2"}),
        "state": AppModel(streaming.mixed()),
        "wake": AppModel(small(2), retain=True),
        "seen": AppModel(small(3), {"input": "external"}),
        "two": AppModel(ported.apart()),
    }
    return optimize(App(models, (("state", "wake"),), options=LOW, name="door v1"))


@cache
def in_pauses() -> AppOptimized:
    app = pausing(0.2)
    return optimize(replace(app, models={**app.models, "other": AppModel(small(7))}))


@cache
def in_slow_memory() -> AppOptimized:
    models = {"a": AppModel(RESNET), "b": AppModel(RESNET), "c": AppModel(small(4))}
    return optimize(App(models, (("a", "b"),), options={**LOW, "memory": "fast=12kB,slow=20kB"}, name="two"))


APPS = {"several": several, "in_pauses": in_pauses, "in_slow_memory": in_slow_memory}
MAIN = (Path(__file__).parent / "app_main.c.in").read_text(encoding="utf-8")
SLOW = "  static _Alignas(16) uint8_t slow[{bytes}];\n  {c}_set_slow(slow);\n"
TURN = (Path(__file__).parent / "app_turn.c.in").read_text(encoding="utf-8")


def turn(m: Module, retained: bool) -> str:
    assert m.shared is not None
    outputs = [f"  fwrite({p.function}(), 1, {p.constant}, out);" for p in m.ports.outputs]
    fill = [f"REQUIRE(fread({p.function}(), 1, {p.constant}, in) == {p.constant});" for p in m.ports.inputs]
    run = f"{m.prefix}_push()" if m.streamed else f"{m.prefix}_invoke()"
    refused, text = run, "\n  ".join(fill)
    if m.shared.pauses:
        text = f"if (!going) {{\n  {text}\n  }}"
    if m.external:
        assert m.source is not None
        size = m.source.rows * m.source.row_bytes
        text = f"static uint8_t picture[{size}];\n  REQUIRE(fread(picture, 1, {size}, in) == {size});"
        text += f"\n  const tmo_source frame = {{picture, {size}, {m.source.row_bytes}, 0, 0, TMO_FORMAT_INT8}};"
        run, refused = f"{m.prefix}_invoke(&frame)", f"{m.prefix}_invoke(NULL)"
    return TURN.format(
        c=m.prefix, outputs="\n".join(outputs), turn=m.shared.turn, retained=int(retained), fill=text, run=run,
        refused=refused,
    )  # fmt: skip


def main(result: AppOptimized) -> str:
    found = modules(result)
    retained = {name: bool(result.app.models[name].retain) for name in found}
    (first, *_) = found.values()
    assert first.shared is not None
    return MAIN.format(
        app=first.shared.header,
        c=first.shared.prefix,
        slow=SLOW.format(c=first.shared.prefix, bytes=result.report.slow) if result.report.slow else "",
        turns="\n".join(turn(m, retained[name]) for name, m in found.items()),
        names=", ".join(f"turn_{m.prefix}" for m in found.values()),
        last="\n".join(f"  keep_{m.prefix}();" for name, m in found.items() if retained[name]),
    )


def gaps(result: AppOptimized) -> bytes:
    found = modules(result)
    free = np.ones(next(m.arena for m in found.values()), np.uint8)
    for name, m in found.items():
        tensors = read(result.models[name].model).graph.tensors
        for t, at in m.at.items():
            free[at : at + tensors[t].nbytes] = 0
    return free.tobytes()


def built(result: AppOptimized, folder: Path) -> None:
    texts = {name: text.decode() for name, text in result.files("c").items() if name.endswith((".c", ".h"))}
    for name, text in {**texts, "main.c": main(result)}.items():
        (folder / name).write_text(text)
    command = ["gcc", *STRICT, *WATCHED, f"-I{LIBRARY}/include", f"-I{LIBRARY}/src", "-I."]
    library = objects(command, [LIBRARY / "src/tmo_status.c"], folder)
    done = subprocess.run(
        [*command, *folder.glob("*.c"), *library, "-o", "program"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def ran(result: AppOptimized, folder: Path) -> tuple[int, int]:
    order, runs = interleaved(result, STEPS, SEED)
    rng, expected = np.random.default_rng(SEED), {}
    for name, entry in result.app.models.items():
        data = original(entry)
        values = random_inputs(data, runs[name], rng)
        c = modules(result)[name].prefix
        (folder / f"{c}.in").write_bytes(
            b"".join(value.tobytes() for run in zip(*values, strict=True) for value in run)
        )
        outputs = run_model(data, values, runs[name], len(read(data).graph.outputs)).outputs
        expected[c] = b"".join(o[r].tobytes() for r in range(runs[name]) for o in outputs)
    (folder / "order").write_bytes(bytes(order))
    (folder / "gaps").write_bytes(gaps(result))
    environment = {"ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        ["./program"], cwd=folder, capture_output=True, text=True, check=False, env=environment, timeout=600
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
    for c, whole in expected.items():
        assert (folder / f"{c}.out").read_bytes() == whole, f"{c}, seed {SEED}"
    refused, wrong = map(int, re.findall(r"-?\d+", done.stdout))
    return refused, wrong


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is missing: apt-get install gcc")
@pytest.mark.parametrize("app", APPS)
def test_models_in_any_order_give_what_tflm_gives(app: str, tmp_path: Path) -> None:
    result = APPS[app]()
    built(result, tmp_path)
    refused, wrong = ran(result, tmp_path)
    assert wrong == 0
    assert (refused > 0) == (app == "in_pauses")
