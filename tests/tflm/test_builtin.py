"""Test `--ops builtin`: TFLM's own operators in another order and at other offsets, in the plain interpreter."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import KEYWORDS, MOBILENET, RESNET
from models import Net

import tflm_memopt
from tflm_memopt.check.checker import check
from tflm_memopt.convert.pipeline import builtin_alone, in_parts
from tflm_memopt.errors import PlanError
from tflm_memopt.model.reader import read
from tflm_memopt.plan.plan import Plan, Role
from tflm_memopt.rowgraph.graph import RowGraph
from tflm_memopt.runtime.stimuli import stimuli
from tflm_memopt.tflm.libraries import library

PLAIN = Path(__file__).with_name("plain.py")
HEADS = {KEYWORDS: 7_344, RESNET: 16_656, MOBILENET: 36_864}
RUNS = 100


def plain(model: bytes, inputs: list[Any], folder: Path) -> list[Any]:
    (folder / "model.tflite").write_bytes(model)
    np.savez(folder / "in.npz", **{f"input{k}": np.stack(values) for k, values in enumerate(inputs)})
    files = [folder / name for name in ("model.tflite", "in.npz", "out.npz")]
    numbers = [str(len(read(model).graph.outputs)), str(4 * len(model) + (1 << 20))]
    command = [sys.executable, PLAIN, *files, *numbers]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    with np.load(folder / "out.npz") as found:
        return [found[name] for name in found.files]


def same_bytes(original: bytes, rewritten: bytes, folder: Path) -> None:
    graph = read(original).graph
    cases = stimuli(graph, [graph.tensors[t] for t in graph.inputs], RUNS, seed=5)
    drawn = [[case.values[k] for case in cases] for k in range(len(graph.inputs))]
    before, after = plain(original, drawn, folder), plain(rewritten, drawn, folder)
    assert len(before) == len(after) == len(graph.outputs)
    for a, b in zip(before, after, strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("path", HEADS, ids=lambda path: path.stem)
def test_heads_by_offsets_alone(path: Path, tmp_path: Path) -> None:
    done = tflm_memopt.optimize(path, ops="builtin", kernels="reference")
    assert done.report.changed and done.report.planned_for == "reference"
    assert done.report.arena.head <= HEADS[path] < done.report.original_arena.head
    assert {op.type for op in read(done.model).graph.ops} == {op.type for op in read(path.read_bytes()).graph.ops}
    same_bytes(path.read_bytes(), done.model, tmp_path)


def chain() -> bytes:
    net = Net(seed=2)
    x = net.input((1, 12, 12, 8))
    y = net.conv2d(x, 8, kernel=(3, 3), padding="SAME")
    z = net.add(y, net.depthwise_conv2d(y))
    z = net.conv2d(net.depthwise_conv2d(z, stride=(2, 2)), 16)
    return net.model(net.fully_connected(net.reshape(z, (1, 6 * 6 * 16)), 10))


def test_the_checker_refuses_what_comes_too_near() -> None:
    data = chain()
    done = tflm_memopt.optimize(data, ops="builtin", kernels="reference")
    assert done.plan
    graph = in_parts(builtin_alone(read(data).graph), (), library("reference"), "ilp32")
    check(done.plan, graph)
    said = [refused(nearer, graph) for nearer in moved(done.plan)]
    assert any("is overwritten before it is read" in message for message in said)


def moved(plan: Plan) -> list[Plan]:
    tensors = [n for n, b in enumerate(plan.buffers) if b.role is Role.TENSOR]
    return [replace(plan, offsets=tuple(o - 16 * (n == m) for n, o in enumerate(plan.offsets))) for m in tensors]


def refused(plan: Plan, graph: RowGraph) -> str:
    try:
        check(plan, graph)
    except PlanError as error:
        return str(error)
    return ""
