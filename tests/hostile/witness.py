"""What TFLM makes of a damaged model, asked again and again in other surroundings.

TFLM trusts its file: told wrong shapes, it reads or writes beyond a tensor's end, or leaves a part of its output as it
was. Then the bytes that come out depend on what happens to lie there, and say nothing about a conversion.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from property import oracle

from tflm_memopt.lower.names import OFFLINE_PLAN, OFFLINE_PLAN_VERSION, ONLINE
from tflm_memopt.model import writer
from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.stand_in import runnable

ARENA = 1 << 24
SURROUNDINGS = ((1 << 6, 0x7F), (1 << 17, 0x80))
"""Bytes between any two tensors, and what fills memory, each time that the model is asked again: -128, then 127, of
which layers behind do not make the same.
"""
BEHIND = 1 << 12
"""Bytes after each constant."""
FOUR_DIMENSIONS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D"})
"""Operators whose kernels read as many of their input, filter and output."""
M_PERTURB = -6
"""Of glibc's mallopt."""

Guards = list[NDArray[np.int8]]


def outputs_anywhere(data: bytes) -> list[list[str]] | None:
    """What TFLM makes of the original; None where that depends on what lies in its memory or beside its tensors, or
    where it writes there. Fills this process's memory.
    """
    data = runnable(data)
    graph = read(data).graph
    if any(lacks_dimensions(op, graph) for op in graph.ops):
        return None
    expected = outputs(oracle.interpreter(data), data)
    for seed, (gap, byte) in enumerate(SURROUNDINGS):
        fill_memory(byte)
        elsewhere, guards = moved(data, gap, np.random.default_rng(seed))
        if outputs(oracle.interpreter(elsewhere, ARENA), data, guards) != expected:
            return None
    return expected


def lacks_dimensions(op: Op, graph: Graph) -> bool:
    """Whether TFLM's kernel reads more dimensions of a shape than there are. It finds them on the stack
    (RuntimeShape::ReplaceWith leaves them uninitialised), which no surroundings change.
    """
    ranks = [len(graph.tensors[t].shape) for t in (*op.inputs[:2], *op.outputs[:1]) if t in graph.tensors]
    return min(ranks, default=0) < (4 if op.type in FOUR_DIMENSIONS else ranks[0] if op.type == "SOFTMAX" else 0)


def fill_memory(byte: int) -> None:
    """From now on, what malloc gives is full of 255 - `byte`, an arena, too; `byte` is not 0."""
    ctypes.CDLL(None).mallopt(M_PERTURB, byte)


def moved(data: bytes, gap: int, rng: np.random.Generator) -> tuple[bytes, Guards]:
    """The model with every tensor in bytes of its own, the last one first, and random bytes between them, which are
    inputs and outputs after the model's own; and with random bytes behind constants in the file.
    """
    model = read(data)
    tree = writer.edit(model)
    subgraph = tree.subgraphs[0]
    guards: Guards = []
    place: dict[int, int] = {}
    end = 0
    for t, tensor in reversed(model.graph.tensors.items()):
        if not tensor.constant and not tensor.variable:
            for placed, nbytes in ((t, tensor.nbytes), (writer.add_tensor(tree, "", (gap,), "INT8"), gap)):
                place[placed] = end
                end += -(-nbytes // 16) * 16
            guards.append(rng.integers(-128, 128, gap, np.int8))
    added = range(len(model.graph.tensors), len(subgraph.tensors))
    subgraph.inputs = np.array([*model.graph.inputs, *added], np.int32)
    subgraph.outputs = np.array([*model.graph.outputs, *added], np.int32)
    for buffer in tree.buffers:
        if buffer.data is not None and len(buffer.data):
            buffer.data = np.append(buffer.data, rng.integers(0, 256, BEHIND, np.uint8))
    table = [OFFLINE_PLAN_VERSION, 1, len(subgraph.tensors)]
    table += [place.get(t, ONLINE) for t in range(len(subgraph.tensors))]
    writer.set_metadata(tree, OFFLINE_PLAN, np.array(table, "<i4"))
    return writer.write(tree), guards


def outputs(interpreter: Any, data: bytes, guards: Sequence[NDArray[np.int8]] = ()) -> list[list[str]] | None:
    """What comes out, in hexadecimal, for a few inputs, the last of which is the first; None where a guard changes."""
    count = len(read(data).graph.outputs)
    inputs = oracle.draw_inputs(data, seed=1)
    runs = [oracle.run(interpreter, [*values, *guards], count + len(guards)) for values in (*inputs, inputs[0])]
    if any(not np.array_equal(left, guard) for run in runs for left, guard in zip(run[count:], guards, strict=True)):
        return None
    return [[output.tobytes().hex() for output in run[:count]] for run in runs]
