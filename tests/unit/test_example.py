"""Test examples/shapes: drawings, the stored model, its accuracy before and after optimizing, and training."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from tflm_memopt.cli import main as cli

ROOT = Path(__file__).parents[2]
SHAPES = ROOT / "examples/shapes"
MODEL = SHAPES / "shapes_int8.tflite"


def load(name: str) -> ModuleType:
    """Import a script of the example as a module; it can import its siblings by name, as when it runs."""
    spec = importlib.util.spec_from_file_location(name, SHAPES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _script_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(SHAPES))
    yield
    sys.modules.pop("dataset", None)


def operators(model: bytes) -> Counter[str]:
    names = {value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
    parsed = schema.ModelT.InitFromPackedBuf(model)
    (graph,) = parsed.subgraphs
    return Counter(names[parsed.operatorCodes[op.opcodeIndex].builtinCode] for op in graph.operators)


@pytest.mark.slow
def test_accuracy_is_the_same_after_optimizing(tmp_path: Path) -> None:
    pytest.importorskip("tflite_micro", reason="the official TFLM wheel exists for Linux on x86-64 only")
    assert cli.main(["optimize", str(MODEL), "-o", str(tmp_path)]) == cli.DONE
    evaluate = load("evaluate")
    images, labels = evaluate.load()
    before = evaluate.outputs(MODEL.read_bytes(), images)
    after = evaluate.outputs((tmp_path / MODEL.name).read_bytes(), images)
    assert evaluate.accuracy(before, labels) > 0.95
    assert np.array_equal(before, after)
    assert operators((tmp_path / MODEL.name).read_bytes()) == {"CUSTOM": 1}
