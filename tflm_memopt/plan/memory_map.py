"""Finds which bytes of the arena each buffer takes over time, for the report.

An operator that TFLM's kernel runs takes one moment, and a group of operators takes several moments. Addresses are
bytes from the start of the arena.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.model.reader import Model
from tflm_memopt.tflm.arena import Arena, Head, head_plan, predict
from tflm_memopt.tflm.libraries import REFERENCE, Library
from tflm_memopt.tflm.lifetimes import ScratchRequest
from tflm_memopt.tflm.structs import Abi

INPUT, OUTPUT, TENSOR, SCRATCH = "input", "output", "tensor", "scratch"


@dataclass(frozen=True, slots=True)
class Phase:
    name: str
    ops: tuple[int, ...]
    operators: tuple[str, ...]
    moments: int
    group: bool = False


@dataclass(frozen=True, slots=True)
class Stretch:
    """The bytes [bottom, top) of a buffer that are live from the moment `first` to the moment before `last`."""

    first: int
    last: int
    bottom: int
    top: int


@dataclass(frozen=True, slots=True)
class MappedBuffer:
    """A buffer in the memory map. The buffer occupies bytes from the moment `first` to the moment before `last`."""

    name: str
    role: str
    maker: str
    nbytes: int
    offset: int
    first: int
    last: int
    kept: str
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class MemoryMap:
    """Shows which bytes of the arena's head are used over time, and the size of the tail."""

    title: str
    phases: tuple[Phase, ...]
    buffers: tuple[MappedBuffer, ...]
    live: tuple[int, ...]
    head: int
    tail: int
    bound: int
    """Maximum number of live bytes, which no layout can undercut."""

    def __repr__(self) -> str:
        return f"<MemoryMap {self.title!r}: {len(self.buffers)} buffers, head {self.head:,} B, tail {self.tail:,} B>"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def of_tflm(model: Model, abi: Abi, arena: Arena | None = None, library: Library = REFERENCE) -> MemoryMap:
    head, arena = head_plan(model, abi, library), arena or predict(model, abi, library=library)
    graphs = model.graphs
    opened = [graphs[number].ops[at] for number, at in head.wanted.scopes[1:]]
    phases = tuple(Phase(f"{op.index} {op.kind}", (op.index,), (op.kind,), 1) for op in opened)
    buffers = tuple(_tflm_buffers(graphs, head, len(phases)))
    live = live_bytes(((b.first, b.last, b.nbytes) for b in buffers), len(phases))
    title, bound = titled("TFLM today", arena), max(live, default=0)
    return MemoryMap(title, phases, buffers, tuple(live), arena.head, arena.tail, bound)


def live_bytes(lives: Iterable[tuple[int, int, int]], moments: int) -> list[int]:
    """For each buffer, the argument `lives` lists the first moment, the last moment plus 1, and the size in bytes."""
    change = [0] * (moments + 1)
    for first, last, nbytes in lives:
        change[first] += nbytes
        change[last] -= nbytes
    return [*itertools.accumulate(change[:moments])]


def _tflm_buffers(graphs: Sequence[Graph], head: Head, phases: int) -> Iterator[MappedBuffer]:
    for request, whom, offset in zip(head.wanted.requests, head.wanted.whom, head.offsets, strict=True):
        first, last = max(0, request.first - 1), min(max(1, request.last), phases)
        if request.last < 0 or first >= last:
            continue
        if isinstance(whom, ScratchRequest):
            op = graphs[whom.subgraph].ops[whom.position]
            name, role, maker, nbytes = "scratch", SCRATCH, f"{op.index} {op.kind}", whom.nbytes
        else:
            graph, tensor = graphs[whom[0]], graphs[whom[0]].tensors[whom[1]]
            name, role, maker = tensor.name, role_of(graph, tensor.id), maker_of(graph, tensor.id)
            nbytes = tensor.nbytes
        yield MappedBuffer(name, role, maker, nbytes, offset, first, last, "whole", (Stretch(first, last, 0, nbytes),))


def together(maps: Mapping[str, MemoryMap], title: str, arena: Arena) -> MemoryMap:
    phases: list[Phase] = []
    buffers: list[MappedBuffer] = []
    live: list[int] = []
    for name, one in maps.items():
        at = len(live)
        phases += [replace(phase, name=f"{name} {phase.name}") for phase in one.phases]
        for b in one.buffers:
            stretches = tuple(replace(s, first=s.first + at, last=s.last + at) for s in b.stretches)
            moved = replace(b, name=f"{name}: {b.name}", first=b.first + at, last=b.last + at, stretches=stretches)
            buffers.append(moved)
        live += one.live
    bound = max((one.bound for one in maps.values()), default=0)
    return MemoryMap(titled(title, arena), tuple(phases), tuple(buffers), tuple(live), arena.head, arena.tail, bound)


def titled(title: str, arena: Arena) -> str:
    return title if arena.exact else f"{title}, at least"


def role_of(graph: Graph, tensor: TensorId) -> str:
    if tensor in graph.inputs:
        return INPUT
    return OUTPUT if tensor in graph.outputs else TENSOR


def maker_of(graph: Graph, tensor: TensorId) -> str:
    op = graph.producer(tensor)
    return f"{op.number} {op.kind}" if op else "the caller"
