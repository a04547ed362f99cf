"""Chooses an inference for a self-test. The outputs must change if two inputs of the inference are exchanged."""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

from tflm_memopt.model.graph import Graph, Tensor, TensorId
from tflm_memopt.model.reader import CUSTOM, Model
from tflm_memopt.model.variables import HANDLE
from tflm_memopt.runtime.stimuli import Array, Run, parts_of_range, stimuli

CANDIDATES = 12
Swaps = Mapping[int, Sequence[int]]
"""Maps the index of an inference to the runs that repeat it with two inputs exchanged."""


def runs(graph: Graph, inputs: Sequence[Tensor], outputs: Sequence[TensorId], seed: int) -> tuple[list[Run], Swaps]:
    """Return inferences with random inputs, and repeat each inference with two inputs exchanged."""
    if len(inputs) < 2 and len(outputs) < 2:
        return stimuli(graph, inputs, 1, seed)[:1], {0: ()}
    half = CANDIDATES // 2
    drawn = [*stimuli(graph, inputs, half, seed)[:half], *parts_of_range(graph, inputs, CANDIDATES - half, seed)]
    pairs = _exchangeable(inputs)
    swaps = {k: range(CANDIDATES + k * len(pairs), CANDIDATES + (k + 1) * len(pairs)) for k in range(CANDIDATES)}
    return [*drawn, *(_exchanged(run, *pair) for run in drawn for pair in pairs)], swaps


def best(swaps: Swaps, tensors: Sequence[TensorId], outputs: Sequence[Array]) -> int:
    """Return the index of the inference with the most differences. Two outputs that differ count as a difference, and
    so do two inputs whose exchange changes an output. For each tensor in `tensors`, the argument `outputs` has the
    tensor's values in all runs.
    """

    def told_apart(candidate: int) -> int:
        mine = [output[candidate].tobytes() for output in outputs]
        between = sum(a != b for (s, a), (t, b) in combinations(zip(tensors, mine, strict=True), 2) if s != t)
        changed = sum(
            any(o[other].tobytes() != m for o, m in zip(outputs, mine, strict=True)) for other in swaps[candidate]
        )
        return int(between + changed)

    return max(swaps, key=told_apart)


def keeps_state(model: Model) -> bool:
    """Return whether an inference may depend on earlier inferences."""
    graphs = model.graphs
    variable = any(tensor.variable for graph in graphs for tensor in graph.tensors.values())
    return variable or any(op.type in (HANDLE, CUSTOM) for graph in graphs for op in graph.ops)


def _exchangeable(inputs: Sequence[Tensor]) -> list[tuple[int, int]]:
    alike: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for k, tensor in enumerate(inputs):
        alike.setdefault((tensor.dtype, tensor.shape), []).append(k)
    return [pair for group in alike.values() for pair in pairwise(group)]


def _exchanged(run: Run, a: int, b: int) -> Run:
    values = list(run.values)
    values[a], values[b] = values[b], values[a]
    return Run(f"{run.label}, inputs {a} and {b} exchanged", tuple(values))
