"""Compares outputs and arena sizes of original and rewritten models under the official TFLM wheel."""

import contextlib
import importlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from conftest import QUICKLY
from numpy.typing import NDArray
from planning import lowered, make_plan
from recording import predict_recording

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import read
from tflm_memopt.plan.effort import LEVELS, NORMAL
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import Builtin
from tflm_memopt.runtime import wheel
from tflm_memopt.runtime.stand_in import runnable

ARENA = 1 << 21
FIGURE = re.compile(r"Arena allocation (head|tail|total) (\d+) bytes")
Inputs = Sequence[NDArray[Any]]
EFFORTS = (LEVELS[NORMAL], LEVELS["low"], QUICKLY, QUICKLY)
ANY = (-128, 127)
LIMITS = {"INT8": ANY, "UINT8": (0, 255), "INT16": (-32768, 32767)}


def convert(data: bytes, options: ConversionOptions) -> tuple[bytes, Planned] | None:
    """Return the rewritten model and its checked plan, even if the plan saves little memory."""
    source = read(data)
    planned = make_plan(source.graph, options)
    return planned and (lowered(source, planned, options), planned)


def rewrite(data: bytes, options: ConversionOptions | None = None) -> tuple[bytes, Planned]:
    found = convert(data, options or ConversionOptions(seconds=0, effort=QUICKLY))
    assert found is not None
    return found


def rewrite_whole(data: bytes) -> bytes:
    model, planned = rewrite(data)
    assert not [step for step in planned.plan.steps if isinstance(step, Builtin)]
    return model


def original(data: bytes, arena: int = ARENA) -> Any:
    return interpreter(runnable(data), arena)


def interpreter(data: bytes, arena: int = ARENA) -> Any:
    module = importlib.import_module("tflite_micro").runtime
    with contextlib.redirect_stdout(io.StringIO()), _stderr():
        return module.Interpreter.from_bytes(data, arena_size=arena)


def rewritten(data: bytes) -> Any:
    return wheel.interpreter(runnable(data), ARENA)


def draw_inputs(data: bytes, seed: int) -> list[Inputs]:
    return inputs_of(read(data).graph, seed)


def inputs_of(graph: Graph, seed: int) -> list[Inputs]:
    rng = np.random.default_rng(seed)
    tensors = [graph.tensors[t] for t in graph.inputs]

    def random(shape: Sequence[int], dtype: str) -> NDArray[Any]:
        if dtype == "FLOAT32":
            return rng.normal(scale=3, size=shape).astype(np.float32)
        if dtype == "BOOL":
            return rng.random(shape) < 0.5
        limits = np.iinfo(dtype.lower())
        return rng.integers(limits.min, limits.max + 1, shape, limits.dtype)

    drawn = [[random(t.shape, t.dtype) for t in tensors] for _ in range(2)]
    lowest = [np.full(t.shape, LIMITS.get(t.dtype, ANY)[0], t.dtype.lower()) for t in tensors]
    highest = [np.full(t.shape, LIMITS.get(t.dtype, ANY)[1], t.dtype.lower()) for t in tensors]
    either = [np.where(rng.random(low.shape) < 0.5, low, high) for low, high in zip(lowest, highest, strict=True)]
    return [*drawn, lowest, highest, either]


def run(interpreter: Any, inputs: Inputs, outputs: int) -> list[NDArray[Any]]:
    for k, values in enumerate(inputs):
        interpreter.set_input(values, k)
    status = interpreter.invoke()
    if status:
        raise RuntimeError(f"invoke() returned {status}")
    return [interpreter.get_output(k).copy() for k in range(outputs)]


def assert_same_bytes(data: bytes, new: bytes, *, seed: int = 0, before: Any = None) -> Any:
    """Check that two models give the same output bytes, and return an interpreter of the rewritten model."""
    a, b = before or original(data), rewritten(new)
    outputs = len(read(data).graph.outputs)
    for inputs in draw_inputs(data, seed):
        for k, (x, y) in enumerate(zip(run(a, inputs, outputs), run(b, inputs, outputs), strict=True)):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y, err_msg=f"output {k}")
    return b


def assert_arena_as_predicted(new: bytes, interpreter: Any = None) -> None:
    arena = predict_recording(new)
    if arena.exact:
        interpreter = interpreter or rewritten(new)
        with _stderr() as read_back:
            interpreter.print_allocations()
            printed = {key: int(value) for key, value in FIGURE.findall(read_back())}
        assert printed == {"head": arena.head, "tail": arena.tail, "total": arena.total}


@contextlib.contextmanager
def _stderr() -> Iterator[Any]:
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as file:

        def read_back() -> str:
            file.seek(0)
            return file.read().decode(errors="replace")

        os.dup2(file.fileno(), 2)
        try:
            yield read_back
        finally:
            os.dup2(saved, 2)
            os.close(saved)
