"""Runs a damaged model in TFLM repeatedly with different memory contents.

If shapes are wrong, TFLM may access bytes outside a tensor, or leave output bytes unwritten. A model whose outputs
depend on bytes outside its tensors has no expected outputs.
"""

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from property import oracle

from tflm_memopt.model import writer
from tflm_memopt.model.graph import Graph, Op, Tensor
from tflm_memopt.model.names import OFFLINE_PLAN, OFFLINE_PLAN_VERSION, ONLINE
from tflm_memopt.model.reader import Model, read
from tflm_memopt.runtime.stand_in import runnable

ARENA = 1 << 24
SURROUNDINGS = ((1 << 6, -128), (1 << 17, 127))
"""For each run: the number of bytes between two tensors, and the value that fills the memory."""
BEHIND = 1 << 12
FOUR_DIMENSIONS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D"})
SUMS = frozenset({"MEAN", "SUM"})
M_PERTURB = -6


class Memory(NamedTuple):
    before: NDArray[np.int8]
    outside_tensors: NDArray[np.bool_]


def outputs_anywhere(data: bytes) -> list[list[str]] | None:
    """Return TFLM's outputs, or None if the outputs depend on memory outside the tensors or if TFLM writes outside the
    tensors.
    """
    data = runnable(data)
    model = read(data)
    graph = model.graph
    if any(strays_unseen(op, graph) for op in graph.ops):
        return None
    expected = outputs(oracle.interpreter(data), graph)
    for gap, value in SURROUNDINGS:
        fill_memory(value)
        elsewhere, memory = moved(model, gap, value)
        if outputs(oracle.interpreter(elsewhere, ARENA), graph, memory) != expected:
            return None
    return expected


def strays_unseen(op: Op, graph: Graph) -> bool:
    """Return whether TFLM's kernel accesses memory outside its tensors in a way that no output shows.

    If a shape has too few dimensions, RuntimeShape::ReplaceWith reads the missing dimensions from the stack. If a
    filter has too few dimensions, PopulateConvolutionQuantizationParams reads bytes behind the filter's shape. If the
    filter has too few channels, DEPTHWISE_CONV_2D reads multipliers beyond its persistent buffer. If the output is too
    small, SUM and MEAN write sums beyond the end of their scratch buffer.
    """
    if op.type in SUMS:
        return sums(op, graph) > graph.tensors[op.outputs[0]].elements
    shapes = [graph.tensors[t].shape for t in (*op.inputs[:2], *op.outputs[:1]) if t in graph.tensors]
    ranks = [len(shape) for shape in shapes]
    if op.type == "TRANSPOSE":
        return len(ranks) == 3 and ranks[2] < ranks[0]
    if min(ranks, default=0) < (4 if op.type in FOUR_DIMENSIONS else ranks[0] if op.type == "SOFTMAX" else 0):
        return True
    if any(scaled_beyond(graph.tensors[t]) for t in op.inputs[1:2] if t in graph.tensors):
        return True
    depthwise = op.type == "DEPTHWISE_CONV_2D" and len(shapes) > 1
    return depthwise and shapes[1][3] < shapes[0][3] * op.options.get("depthMultiplier", 0)


def scaled_beyond(tensor: Tensor) -> bool:
    q = tensor.quantization
    return q is not None and len(q.scale) > 1 and not 0 <= q.axis < len(tensor.shape)


def sums(op: Op, graph: Graph) -> int:
    values, axes = (graph.tensors[t] for t in op.inputs)
    along = {int(axis) % len(values.shape) for axis in np.ravel(axes.data)} if values.shape and axes.constant else ()
    return math.prod(size for dimension, size in enumerate(values.shape) if dimension not in along)


def fill_memory(value: int) -> None:
    ctypes.CDLL(None).mallopt(M_PERTURB, ~value & 0xFF)


def moved(model: Model, gap: int, value: int) -> tuple[bytes, Memory]:
    """Return a model whose tensors share one memory without overlaps. An additional input and an additional output
    of the model each span the whole shared memory.

    Fill each tensor of the returned memory with `value`, and put random bytes between the tensors and after each
    constant.
    """
    rng = np.random.default_rng(gap)
    tree = writer.edit(model)
    subgraph = tree.subgraphs[0]
    place: dict[int, int] = {}
    tensors = list[slice]()
    end = gap
    for t, tensor in reversed(model.graph.tensors.items()):
        if not tensor.constant and not tensor.variable:
            place[t] = end
            tensors.append(slice(end, end + tensor.nbytes))
            end = -(-(end + tensor.nbytes + gap) // 16) * 16
    memory = Memory(rng.integers(-128, 128, end, np.int8), np.ones(end, bool))
    for where in tensors:
        memory.before[where] = value
        memory.outside_tensors[where] = False
    whole = writer.add_tensor(tree, "", (end,), "INT8")
    place[whole] = 0
    subgraph.inputs = np.array([whole, *model.graph.inputs], np.int32)
    subgraph.outputs = np.array([*model.graph.outputs, whole], np.int32)
    for buffer in tree.buffers:
        if buffer.data is not None and len(buffer.data):
            buffer.data = np.append(buffer.data, rng.integers(0, 256, BEHIND, np.uint8))
    table = [OFFLINE_PLAN_VERSION, 1, len(subgraph.tensors)]
    table += [place.get(t, ONLINE) for t in range(len(subgraph.tensors))]
    writer.set_metadata(tree, OFFLINE_PLAN, np.array(table, "<i4"))
    return writer.write(tree), memory


def outputs(interpreter: Any, graph: Graph, memory: Memory | None = None) -> list[list[str]] | None:
    """Return the outputs as hexadecimal text, or None if TFLM writes to the memory between tensors."""
    count = len(graph.outputs)
    inputs = oracle.inputs_of(graph, seed=1)
    runs = []
    for values in (*inputs, inputs[0]):
        if memory is None:
            run = oracle.run(interpreter, values, count)
        else:
            *run, after = oracle.run(interpreter, [memory.before, *values], count + 1)
            if not np.array_equal(after[memory.outside_tensors], memory.before[memory.outside_tensors]):
                return None
        runs.append([output.tobytes().hex() for output in run])
    return runs
