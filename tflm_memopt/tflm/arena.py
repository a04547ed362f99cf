"""What TFLM's interpreter will take of its arena, from the model alone: head, tail, total, and the smallest arena.

A replay of MicroInterpreter::AllocateTensors (tensorflow/lite/micro/micro_interpreter.cc, micro_allocator.cc): the same
allocations in the same order with the same alignment, so that gaps count, too. What each operator allocates, its kernel
library says (libraries.py). The arena is taken to start at a 16-byte boundary, as TFLM asks.

Two ends grow towards each other. The tail holds what stays: structs, per-channel arrays. The head holds, one after the
other, scratch requests, Prepare's temporary tensors, the planner's own arrays, and at last the activations. `total`
counts what is left in the end; `min` is the widest moment, often the planner's.
"""

from __future__ import annotations

import bisect
import enum
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.model.reader import Model, read
from tflm_memopt.tflm import greedy_planner
from tflm_memopt.tflm.builtin_memory import (
    UNKNOWN,
    Kernel,
    Persistent,
    ResourceBuffer,
    Scratch,
    TempTensor,
    kernel_name,
    node_of,
)
from tflm_memopt.tflm.choices import Kernels
from tflm_memopt.tflm.libraries import REFERENCE, Library
from tflm_memopt.tflm.lifetimes import (
    ALIGNMENT,
    ONLINE,
    VAR_HANDLE,
    ScratchRequest,
    Variable,
    Wanted,
    aligned,
    nbytes,
    offline_offsets,
    planned_at_tail,
    requests,
    variable,
)
from tflm_memopt.tflm.structs import PLANNER_BYTES_PER_BUFFER, STRUCTS, Abi

MAX_SCRATCH_PER_OP = 12
"""kMaxScratchBuffersPerOp (micro_allocator.cc)."""


@dataclass(frozen=True, slots=True)
class Arena:
    """Bytes of the tensor arena, for one ABI."""

    abi: Abi
    head: int
    """Activations and scratch buffers."""
    tail: int
    """Everything that stays: structs, per-channel arrays, variable tensors."""
    total: int
    """head + tail: what arena_used_bytes() says after AllocateTensors in an arena whose size is a multiple of 16."""
    min: int
    """The smallest arena with which AllocateTensors succeeds. It may be up to 15 B below `total`, where an arena whose
    size is no multiple of 16 has smaller alignment gaps."""
    unknown: tuple[str, ...] = ()
    """Operators of which nobody knows here what they allocate, each once: the model takes at least what the figures
    say."""
    kernels: Kernels = "reference"
    """Kernels of the builtin operators, whose scratch and state are counted."""
    variables: int = 0
    """Resource variables: the application has to create MicroResourceVariables for so many."""
    variable_bytes: int = 0
    """Bytes of the tail that MicroResourceVariables takes, and the variables' own."""

    @property
    def exact(self) -> bool:
        return not self.unknown

    def figure(self, nbytes: int) -> str:
        """One of the figures, for people: "at least" where more is not known."""
        return f"{nbytes:,}" if self.exact else f"at least {nbytes:,}"

    def to_json(self) -> dict[str, Any]:
        """A figure that is not known is null; then `at_least` has the part of it that is."""
        figures = {"head": self.head, "tail": self.tail, "total": self.total, "min": self.min}
        return {
            **asdict(self),
            **(figures if self.exact else dict.fromkeys(figures)),
            "at_least": None if self.exact else figures,
        }

    @property
    def needed(self) -> int:
        """Bytes with which a program works: AllocateTensors succeeds, and all that it uses is there."""
        return max(self.total, self.min)


def predict(
    model: bytes | Model, abi: Abi = "ilp32", *, recording: bool = False, library: Library = REFERENCE
) -> Arena:
    """The arena of `model`, original or rewritten, with these kernels.

    abi: "ilp32", "ilp32-full" for the largest of 32-bit builds, or "lp64"; structs.py says which builds these are.
    recording: for RecordingMicroInterpreter, whose own structs are larger. Raises ModelError for bytes that are no
    model, and for an offline plan that TFLM refuses.
    """
    return predict_together((model,), abi, recording=recording, libraries=(library,))


def predict_together(
    models: Sequence[bytes | Model], abi: Abi = "ilp32", *, libraries: Sequence[Library], recording: bool = False
) -> Arena:
    """The arena of several interpreters made with one MicroAllocator, one after the other: their tails add up, less the
    allocator itself; the head is that of the largest. libraries: whose kernels each model has. Raises as predict().
    """
    events: list[_Event] = []
    unknown: set[str] = set()
    floor = variables = variable_bytes = 0
    for number, (model, library) in enumerate(zip(models, libraries, strict=True)):
        source = read(model) if isinstance(model, bytes) else model
        replay = _replay(source, abi, recording, library, floor=floor, first=number == 0)
        events, unknown, floor = events + replay.events, unknown | replay.unknown, replay.floor
        variables, variable_bytes = variables + replay.variables, variable_bytes + replay.variable_bytes
    ample = _ample(events)
    ends = _ends(events, ample)
    if ends.missing:
        raise AssertionError("the arena is full, though it has room for everything side by side")
    head, tail = ends.head, ample - ends.tail
    smallest = _smallest(events, head + tail)
    kernels = libraries[0].name
    return Arena(abi, head, tail, head + tail, smallest, tuple(sorted(unknown)), kernels, variables, variable_bytes)


@dataclass(frozen=True, slots=True)
class Head:
    """Where TFLM's own planner puts activations and scratch buffers, and when."""

    wanted: Wanted
    offsets: tuple[int, ...]
    """Bytes from the arena's start, for each request."""


def head_plan(model: Model, abi: Abi = "ilp32", library: Library = REFERENCE) -> Head:
    """The head of `predict()`, buffer by buffer."""
    replay = _replay(model, abi, recording=False, library=library)
    wanted = _wanted(replay)
    return Head(wanted, greedy_planner.place(wanted.requests))


# --- AllocateTensors, step by step


class _Where(enum.Enum):
    TAIL = enum.auto()
    """Bytes that stay."""
    HEAD = enum.auto()
    """The head section gets this size, whatever it was, and temporaries end."""
    TEMP = enum.auto()
    """Bytes above the head, until the next RESET or HEAD."""
    RESET = enum.auto()
    LENT = enum.auto()
    """All that is left is lent to the planner, which needs at least this much."""


_Event = tuple[_Where, int, int]
"""Where, bytes, alignment."""


@dataclass(slots=True)
class _Replay:
    """The model, and the allocations so far, in order."""

    tree: Any
    graphs: tuple[Graph, ...]
    abi: Abi
    recording: bool
    library: Library
    events: list[_Event] = field(default_factory=list)
    scratch: list[ScratchRequest] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    variables: int = 0
    filled: set[Variable] = field(default_factory=set)
    """Variables that have their bytes."""
    variable_bytes: int = 0
    floor: int = 0
    """The head of the interpreters before: the allocator never gives it back."""

    def add(self, where: _Where, size: int = 0, align: int = 1) -> None:
        self.events.append((where, size, align))

    def add_variable(self, size: int) -> None:
        """Bytes that resource variables take."""
        self.add(_Where.TAIL, size, ALIGNMENT)
        self.variable_bytes += aligned(size)

    def add_struct(self, where: _Where, name: str, count: int = 1, align: int = 0) -> None:
        layout = STRUCTS[name].of(self.abi)
        self.add(where, layout.size * count, align or layout.align)

    def add_tensor(self, where: _Where, subgraph: int, tensor: int) -> None:
        """A TfLiteTensor and its quantization (InitializeTfLiteTensorFromFlatbuffer, micro_allocator.cc)."""
        self.add_struct(where, "TfLiteTensor")
        q = self.tree.subgraphs[subgraph].tensors[tensor].quantization
        if q is not None and _length(q.scale) and _length(q.zeroPoint):
            self.add_struct(where, "TfLiteAffineQuantization")
            self.add_struct(where, "int", 1 + _length(q.scale))  # zero points, as a TfLiteIntArray

    def kernel(self, op: Op) -> Kernel:
        name = kernel_name(op)
        if name not in self.library.rows:
            self.unknown.add(name)
        return self.library.rows.get(name, UNKNOWN)


def _replay(
    source: Model, abi: Abi, recording: bool, library: Library, *, floor: int = 0, first: bool = True
) -> _Replay:
    """first: its allocator is made as well."""
    replay = _Replay(source.tree, source.graphs, abi, recording, library, floor=floor)
    for step in (_create,) * first + (_create_variables, _start, _parse_and_init, _prepare, _plan, _expose):
        step(replay)
    return replay


def _create(replay: _Replay) -> None:
    """MicroAllocator::Create: the allocators and the planner themselves."""
    prefix = "Recording" if replay.recording else ""
    for name in (f"{prefix}SingleArenaBufferAllocator", "GreedyMemoryPlanner", f"{prefix}MicroAllocator"):
        replay.add_struct(_Where.TAIL, name)


def _create_variables(replay: _Replay) -> None:
    """MicroResourceVariables::Create, for as many variables as the model has: the application calls it, with the
    allocator that it gives to the interpreter.
    """
    replay.variables = len({variable(op) for graph in replay.graphs for op in graph.ops if op.type == VAR_HANDLE})
    if replay.variables:
        replay.add_variable(STRUCTS["MicroResourceVariables"].of(replay.abi).size)
        replay.add_variable(STRUCTS["MicroResourceVariable"].of(replay.abi).size * replay.variables)


def _start(replay: _Replay) -> None:
    """MicroAllocator::StartModelAllocation: tensors and nodes."""
    replay.add_struct(_Where.TAIL, "MicroBuiltinDataAllocator")
    _reserve_scratch_requests(replay)
    replay.add_struct(_Where.TAIL, "SubgraphAllocations", len(replay.graphs))
    for graph in replay.graphs:
        replay.add_struct(_Where.TAIL, "TfLiteEvalTensor", len(graph.tensors))
    for graph in replay.graphs:
        replay.add_struct(_Where.TAIL, "NodeAndRegistration", len(graph.ops))


def _reserve_scratch_requests(replay: _Replay) -> None:
    """Room for the requests so far and for those of one more operator."""
    replay.add_struct(_Where.HEAD, "ScratchBufferRequest", len(replay.scratch) + MAX_SCRATCH_PER_OP)


def _parse_and_init(replay: _Replay) -> None:
    """All operators' builtin data (PrepareNodeAndRegistrationDataFromFlatbuffer), then all operators' Init."""
    kernels = [replay.kernel(op) for graph in replay.graphs for op in graph.ops]
    for kernel in kernels:
        if kernel.params:
            replay.add_struct(_Where.TAIL, kernel.params)
    for kernel in kernels:
        if kernel.state and STRUCTS[kernel.state].of(replay.abi).size:
            replay.add_struct(_Where.TAIL, kernel.state, align=ALIGNMENT)


def _prepare(replay: _Replay) -> None:
    """MicroInterpreterGraph::PrepareSubgraphs: what each kernel's Prepare allocates, and the clean-up after it."""
    for number, graph in enumerate(replay.graphs):
        handles = {op.outputs[0]: variable(op) for op in graph.ops if op.type == VAR_HANDLE and op.outputs}
        for position, op in enumerate(graph.ops):
            for step in replay.kernel(op).prepare(node_of(graph, op), replay.abi):
                match step:
                    case Persistent(size):
                        replay.add(_Where.TAIL, size, ALIGNMENT)
                    case TempTensor(tensor):
                        replay.add_tensor(_Where.TEMP, number, tensor.id)
                    case ResourceBuffer(handle, size):
                        if (name := handles.get(handle.id)) and name not in replay.filled:
                            replay.filled.add(name)
                            replay.add_variable(size)
                    case Scratch(size):
                        replay.scratch.append(ScratchRequest(number, position, size))
            replay.add(_Where.RESET)
            _reserve_scratch_requests(replay)


def _plan(replay: _Replay) -> None:
    """MicroAllocator::FinishModelAllocation: the planner's temporaries, then the head that it planned."""
    if replay.scratch:
        replay.add_struct(_Where.TAIL, "ScratchBufferHandle", len(replay.scratch))
    tensors = sum(len(graph.tensors) for graph in replay.graphs)
    replay.add_struct(_Where.TEMP, "pointer", len(replay.graphs))  # where each subgraph's tensors start, size_t
    replay.add_struct(_Where.TEMP, "AllocationInfo", tensors + len(replay.scratch))
    offsets = offline_offsets(replay.tree, tensors)
    for graph in replay.graphs:
        for i, tensor in graph.tensors.items():
            if planned_at_tail(tensor, ONLINE if offsets is None else offsets[i]):  # subgraph 0's offset, as in TFLM
                replay.add(_Where.TAIL, nbytes(tensor), ALIGNMENT)
    wanted = _wanted(replay).requests
    replay.add(_Where.LENT, PLANNER_BYTES_PER_BUFFER * len(wanted), ALIGNMENT)
    replay.floor = max(replay.floor, greedy_planner.high_water(wanted, greedy_planner.place(wanted)))
    replay.add(_Where.HEAD, replay.floor, ALIGNMENT)


def _wanted(replay: _Replay) -> Wanted:
    tensors = sum(len(graph.tensors) for graph in replay.graphs)
    return requests(replay.graphs, replay.scratch, offline_offsets(replay.tree, tensors))


def _expose(replay: _Replay) -> None:
    """The model's inputs and outputs as TfLiteTensors, at the end of MicroInterpreter::AllocateTensors."""
    graph = replay.graphs[0]
    for ids in (graph.inputs, graph.outputs):
        replay.add_struct(_Where.TAIL, "pointer", len(ids), align=ALIGNMENT)
        for i in ids:
            replay.add_tensor(_Where.TAIL, 0, i)


def _length(vector: Any) -> int:
    return 0 if vector is None else len(vector)


# --- the two ends of the arena: SingleArenaBufferAllocator (arena_allocator/single_arena_buffer_allocator.cc)


class _Ends(NamedTuple):
    """Where head and tail end, in bytes from the arena's start."""

    head: int
    tail: int
    missing: int = 0
    """Bytes that the first event that does not fit lacks; 0: all events fit."""


def _ends(events: Iterable[_Event], size: int) -> _Ends:
    """The ends after all events in an arena of `size` bytes, or at the first event that does not fit.

    Stricter than TFLM in one thing: TFLM compares the tail with the head alone, so that it may run over a temporary
    tensor that Prepare still reads. Rising with `size`, so that a bisection finds the smallest.
    """
    head = temp = 0
    tail = size
    for where, needed, align in events:
        match where:
            case _Where.TAIL:
                tail = (tail - needed) // align * align
            case _Where.HEAD:
                head = temp = needed
            case _Where.TEMP:
                temp = aligned(temp, align) + needed
            case _Where.RESET:
                temp = head
            case _Where.LENT:
                if (room := tail // align * align - aligned(temp, align)) < needed:
                    return _Ends(head, tail, needed - room)
        if temp > tail:
            return _Ends(head, tail, temp - tail)
    return _Ends(head, tail)


def _smallest(events: Sequence[_Event], total: int) -> int:
    """The smallest arena in which all events fit; `total`: what they take in an ample one.

    Room grows with the arena, but for less than the alignment: an arena with `missing` bytes too few cannot become
    large enough by less than `missing` minus the alignment.
    """
    low, high = max(0, total - ALIGNMENT), total
    while missing := _ends(events, high).missing:
        low, high = max(high + 1, high + missing - ALIGNMENT), high + missing
    return bisect.bisect_left(range(high), True, lo=low, key=lambda size: not _ends(events, size).missing)


def _ample(events: Sequence[_Event]) -> int:
    """A multiple of the alignment in which all events fit even side by side."""
    return aligned(sum(size + align for _, size, align in events))
