"""Finds which bytes of the arena each buffer takes over time, for the report.

An operator that TFLM's kernel runs takes one moment, and a group of operators takes several moments. Addresses are
bytes from the start of the arena.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.model.reader import Model
from tflm_memopt.plan.iteration.liveness import LiveRange
from tflm_memopt.plan.iteration.planned import Planned, PlannedGroup
from tflm_memopt.plan.plan import Buffer, Group, Role
from tflm_memopt.tflm.arena import Arena, Head, head_plan, predict
from tflm_memopt.tflm.libraries import REFERENCE, Library
from tflm_memopt.tflm.lifetimes import ScratchRequest
from tflm_memopt.tflm.structs import Abi

INPUT, OUTPUT, TENSOR, SCRATCH = "input", "output", "tensor", "scratch"
MOST_MOMENTS = 64
"""Maximum number of moments of a group in the memory map, so that a screen can show all moments."""
UNNAMED: Mapping[Role, str] = {Role.COUNTERS: "iteration counters", Role.SCRATCH: "scratch of the kernels"}


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


def _occupancy(planned: Planned) -> tuple[list[int], list[list[Stretch]], list[int]]:
    """Return the number of moments of each step, the stretches of each buffer, and the live bytes at each moment."""
    plan = planned.plan
    moments: list[int] = []
    live: list[int] = []
    stretches: list[list[Stretch]] = [[] for _ in plan.buffers]
    for number, alive in enumerate(plan.alive):
        group = planned.groups.get(number)
        inside = _in_memory(group) if group else {}
        at_once = np.zeros(max((len(c.top) for c in inside.values()), default=1), dtype=np.int64)
        parts = _groups(len(at_once))
        total = np.zeros(len(parts), dtype=np.int64)
        for i in alive:
            here = inside.get(i)
            if here is None:
                total += plan.buffers[i].nbytes
                _append(stretches[i], Stretch(len(live), len(live) + len(parts), 0, plan.buffers[i].nbytes))
                continue
            at_once += np.maximum(here.before - here.bottom, 0)
            for k, part in enumerate(parts):
                some = here.top[part] > here.bottom[part]
                if some.any():
                    bottom, top = int(here.bottom[part][some].min()), int(here.top[part][some].max())
                    _append(stretches[i], Stretch(len(live) + k, len(live) + k + 1, max(0, bottom), top))
        total += np.array([at_once[part].max() for part in parts])
        moments.append(len(parts))
        live += total.tolist()
    return moments, stretches, live


def _in_memory(group: PlannedGroup) -> Mapping[int, LiveRange]:
    reverses = group.step.is_reversed
    ranges = group.live_ranges.items()
    return {i: r.from_the_end() if reverses and r.buffer.role is Role.TENSOR else r for i, r in ranges}


def _groups(count: int) -> list[slice]:
    edges = np.linspace(0, count, min(count, MOST_MOMENTS) + 1).astype(int).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def _append(stretches: list[Stretch], new: Stretch) -> None:
    old = stretches[-1] if stretches else None
    if old and (old.last, old.bottom, old.top) == (new.first, new.bottom, new.top):
        stretches[-1] = Stretch(old.first, new.last, new.bottom, new.top)
    else:
        stretches.append(new)


def of_plan(planned: Planned, arena: Arena) -> MemoryMap:
    plan, ops, graph = planned.plan, planned.graph.ops, planned.graph.model
    source = planned.graph.source
    moments_of, stretches_of, live = _occupancy(planned)
    starts = [*itertools.accumulate(moments_of, initial=0)]
    types = {op.index: op.kind for op in graph.ops}
    phases, group = [], 0
    for step, moments in zip(plan.steps, moments_of, strict=True):
        if isinstance(step, Group):
            sources = tuple(sorted(i for stage in step.stages for i in ops[stage.op].sources))
            names = tuple(ops[stage.op].name for stage in step.stages)
            phases.append(Phase(f"group {group}", sources, names, moments, group=True))
            group += 1
        else:
            phases.append(Phase(f"{step.op} {types[step.op]}", (step.op,), (types[step.op],), moments))
    rows = {op.output: op.writes.h for op in ops.values()} | ({source.tensor: source.height} if source else {})
    buffers = tuple(
        MappedBuffer(
            UNNAMED.get(b.role) or graph.tensors[b.key].name,
            role_of(graph, b.key) if b.role is Role.TENSOR else b.role.value,
            "" if b.role in UNNAMED else maker_of(graph, b.key),
            b.nbytes,
            offset,
            starts[b.first],
            starts[b.last],
            _kept(b, rows),
            tuple(stretches),
        )
        for (b, offset), stretches in zip(plan.placed(), stretches_of, strict=True)
    )
    title = titled("Rewritten", arena)
    return MemoryMap(title, tuple(phases), buffers, tuple(live), arena.head, arena.tail, plan.lower_bound)


def _kept(buffer: Buffer, rows: Mapping[TensorId, int]) -> str:
    if buffer.role is Role.ACCUMULATOR:
        return "int32 sums"
    if buffer.role is Role.WEIGHTS:
        return "copy of its maker's weights"
    if buffer.role in UNNAMED:
        return "of the running group"
    if buffer.column_windows:
        return f"pixels of {sum(column_window.rows for column_window in buffer.column_windows)} rows of each stripe"
    return f"{buffer.depth} of {rows[buffer.key]} rows" if buffer.role is Role.ROLLING_BUFFER else "whole"
