"""A run that pauses at random iterations gives the same output bytes as a run without pauses."""

import ctypes

import executor
import numpy as np
import pytest
from numpy.typing import NDArray
from unit.command import long, small

from tflm_memopt import optimize
from tflm_memopt.lower.program import HEADER
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import WAIT, Status
from tflm_memopt.runtime.regions import regions

SEED = 31


def paused_run(
    program: bytes, inputs: list[NDArray[np.int8]], outputs: list[int], pauses: list[int]
) -> tuple[list[int], list[NDArray[np.int8]]]:
    buffers = host._Buffers(program, inputs, outputs)
    at, list_ = host._Stream(), (ctypes.c_uint32 * max(len(pauses), 1))(*pauses)
    arguments = buffers.image.ctypes.data, buffers.io, buffers.workspace.ctypes.data, list_, len(pauses)
    said = []
    while not said or said[-1] == WAIT:
        said.append(executor.library().tmo_run_paused(*arguments, ctypes.byref(at)))
    assert (at.rows, at.iterations) == (0, 0)
    return said, buffers.outputs


@pytest.mark.parametrize("data", [small(), long()], ids=["small", "long"])
def test_any_pauses(data: bytes) -> None:
    rng = np.random.default_rng(SEED)
    (program,) = (region.program for region in regions(read(optimize(data, effort=0.01, seconds=0.1).model)))
    graph = read(data).graph
    inputs = [rng.integers(-128, 128, graph.tensors[t].shape, dtype=np.int8) for t in graph.inputs]
    sizes = [graph.tensors[t].nbytes for t in graph.outputs]
    expected = host.run(program, inputs, sizes)
    iterations = int(np.frombuffer(program, HEADER, 1)[0]["iterations"])
    for count in (0, 1, 7, iterations - 1):
        pauses = sorted(rng.choice(np.arange(1, iterations), count, replace=False).tolist())
        said, got = paused_run(program, inputs, sizes, pauses)
        assert said == [WAIT] * count + [Status.OK]
        for one, other in zip(expected, got, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=f"seed {SEED}, {count} pauses")


def test_a_damaged_pause_is_refused() -> None:
    (program,) = (region.program for region in regions(read(optimize(small(), effort=0.01, seconds=0.1).model)))
    graph = read(small()).graph
    inputs = [np.zeros(graph.tensors[t].shape, np.int8) for t in graph.inputs]
    buffers = host._Buffers(program, inputs, [graph.tensors[t].nbytes for t in graph.outputs])
    arguments = buffers.image.ctypes.data, buffers.io, buffers.workspace.ctypes.data, None, 0
    at = host._Stream(1, 1 << 30)
    assert executor.library().tmo_run_paused(*arguments, ctypes.byref(at)) == Status.ITERATIONS
