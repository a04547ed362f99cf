"""Lists the buffers that TFLM's planner places, with their lifetimes: activations and the kernels' scratch buffers.

The code follows AllocationInfoBuilder (tensorflow/lite/micro/micro_allocation_info.cc). Time is counted in allocation
scopes: each operator opens a scope, and so does each subgraph that a control flow operator calls.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tflm_memopt.errors import ModelError
from tflm_memopt.model.calls import called
from tflm_memopt.model.graph import Graph, Op, Tensor, TensorId
from tflm_memopt.model.names import OFFLINE_PLAN, ONLINE
from tflm_memopt.model.reader import text
from tflm_memopt.model.variables import handles
from tflm_memopt.tflm.greedy_planner import Need, high_water, place

ALIGNMENT = 16
"""Result of TFLM's MicroArenaBufferAlignment() (micro_arena_constants.h)."""
_UNUSED = -1
"""First and last scope of an unused tensor, for which TFLM nevertheless plans memory."""


@dataclass(frozen=True, slots=True)
class ScratchRequest:
    """An operator's call of TFLM's function RequestScratchBufferInArena()."""

    subgraph: int
    position: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Wanted:
    requests: tuple[Need, ...]
    whom: tuple[tuple[int, TensorId] | ScratchRequest, ...]
    """For each request, what needs the bytes: a tensor as (subgraph, tensor), or a kernel's ScratchRequest."""
    scopes: tuple[tuple[int, int], ...]
    """For each allocation scope, the subgraph and the position of the operator that opens the scope. Scope 0, which is
    open before all operators, is listed with the first operator. The scope of a called subgraph is listed with the
    operator that calls the subgraph.
    """


def requests(graphs: Sequence[Graph], scratch: Sequence[ScratchRequest], offsets: Sequence[int] | None) -> Wanted:
    """Return all buffers in TFLM's order: tensors of all subgraphs, then scratch. The argument `offsets` is the result
    of offline_offsets().

    TFLM plans no bytes for the output of VAR_HANDLE, which stores the handle in its own state (kernels/var_handle.cc).
    """
    lives = _Lifetimes(graphs)
    lives.walk(0)
    wanted: list[Need] = []
    whom: list[tuple[int, TensorId] | ScratchRequest] = []
    named = {(number, tensor) for number, graph in enumerate(graphs) for tensor in handles(graph)}
    keys = ((number, tensor) for number, graph in enumerate(graphs) for tensor in graph.tensors.values())
    for flat, (number, tensor) in enumerate(keys):
        offset = ONLINE if offsets is None else offsets[flat]
        if (number, tensor.id) not in named and _needs_allocating(tensor, offset):
            first, last = (lives_of.get((number, tensor.id), _UNUSED) for lives_of in (lives.first, lives.last))
            wanted.append(Need(aligned(nbytes(tensor)), first, last, None if offset == ONLINE else offset))
            whom.append((number, tensor.id))
    wanted += [Need(aligned(s.nbytes), *lives.ops.get((s.subgraph, s.position), (_UNUSED, _UNUSED))) for s in scratch]
    return Wanted(tuple(wanted), (*whom, *scratch), tuple(lives.scopes))


def plans_others(graphs: Sequence[Graph]) -> bool:
    """Return whether TFLM plans bytes for a tensor that is not in the first subgraph."""
    others = ((graph, handles(graph)) for graph in graphs[1:])
    return any(t.id not in named and _needs_allocating(t, ONLINE) for g, named in others for t in g.tensors.values())


def called_bytes(graph: Graph, op: Op) -> int:
    """Return how many bytes TFLM's planner takes for all activations in the subgraphs of an operator."""
    alone = Graph({}, (op,), (), ())
    wanted = requests((alone, *graph.subgraphs[1:]), (), None).requests if called(op) else ()
    live = [need for need in wanted if need.first != _UNUSED]
    return high_water(live, place(live))


def offline_offsets(tree: Any, tensors: int) -> tuple[int, ...] | None:
    """Return the offsets of all tensors from the metadata of a schema ModelT, or None without offsets
    (GetOfflinePlannedOffsets).

    Raises ModelError if TFLM would reject the metadata, or would read beyond the end of the metadata.
    """
    offsets = None
    for entry in () if tree.metadata is None else tree.metadata:
        if text(entry.name) != OFFLINE_PLAN:
            continue
        data = tree.buffers[entry.buffer].data
        raw = b"" if data is None else bytes(data)
        words = struct.unpack(f"<{len(raw) // 4}i", raw[: len(raw) // 4 * 4])
        if len(words) < 3 + tensors or words[2] != tensors:
            raise ModelError(
                f"the offline memory plan is not for {tensors} tensors",
                code="damaged_model",
                where=f"metadata '{OFFLINE_PLAN}'",
                hint="remove the entry, or convert the model again",
            )
        offsets = words[3 : 3 + tensors]
    return offsets


def planned_at_tail(tensor: Tensor, offset: int) -> bool:
    """Return whether a tensor is a variable without an offline offset. TFLM places variables without an offline offset
    in the arena's tail (MicroAllocator::AllocateVariables).
    """
    return tensor.variable and offset == ONLINE


def nbytes(tensor: Tensor) -> int:
    """Return the number of bytes of a tensor in the arena. An int4 takes one byte (TfLiteTypeSizeOf,
    memory_helpers.cc), and a dimension of -1 counts as 1.
    """
    return abs(4 * tensor.elements if tensor.dtype == "RESOURCE" else tensor.nbytes)


def aligned(size: int, align: int = ALIGNMENT) -> int:
    """Return `size` rounded up to TFLM's alignment.

    >>> aligned(17)
    32
    """
    return -(-size // align) * align


def _needs_allocating(tensor: Tensor, offset: int) -> bool:
    if tensor.variable:
        return offset != ONLINE
    return not tensor.constant and nbytes(tensor) != 0


class _Lifetimes:
    """Visits the subgraphs in execution order, and counts the allocation scopes (MarkAllocationLifetimes)."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self.graphs = graphs
        self.scopes: list[tuple[int, int]] = [(0, 0)]
        self.first: dict[tuple[int, TensorId], int] = {}
        self.last: dict[tuple[int, TensorId], int] = {}
        self.ops: dict[tuple[int, int], tuple[int, int]] = {}
        """Maps an operator, given by subgraph and position, to its first and last scope."""

    def walk(self, number: int) -> None:
        graph = self.graphs[number]
        self.created(number, graph.inputs)
        self.used(number, graph.inputs)
        for position, op in enumerate(graph.ops):
            self.scopes.append((number, position))
            start, _ = self.ops.get((number, position), (self.scope, 0))
            self.created(number, op.outputs)
            for other in called(op):
                self.scopes.append((number, position))
                self.walk(other)
            self.used(number, (*op.inputs, *op.outputs))
            self.ops[number, position] = start, self.scope
        self.created(number, graph.outputs)
        self.used(number, graph.outputs)

    @property
    def scope(self) -> int:
        return len(self.scopes) - 1

    def created(self, number: int, tensors: Sequence[TensorId]) -> None:
        for i in tensors:
            self.first.setdefault((number, i), self.scope)

    def used(self, number: int, tensors: Sequence[TensorId]) -> None:
        self.last |= dict.fromkeys(((number, i) for i in tensors), self.scope)
