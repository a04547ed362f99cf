"""Predicts the arena of TFLM's interpreter from the model alone.

The module replays MicroInterpreter::AllocateTensors (tensorflow/lite/micro/micro_interpreter.cc, micro_allocator.cc):
the same allocations in the same order with the same alignment gaps. The kernel libraries (libraries.py) list what each
operator allocates. The arena starts at a 16-byte boundary, as TFLM requires.

Head and tail of the arena grow towards each other. The tail holds persistent data: structs and per-channel arrays. The
head holds scratch requests, temporary tensors and the planner's arrays during AllocateTensors, and activations and
scratch buffers afterwards.
"""

import bisect
import enum
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.model.names import ONLINE
from tflm_memopt.model.reader import Model, read
from tflm_memopt.model.variables import Variable, handles, variables
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
    ScratchRequest,
    Wanted,
    aligned,
    nbytes,
    offline_offsets,
    planned_at_tail,
    requests,
)
from tflm_memopt.tflm.structs import PLANNER_BYTES_PER_BUFFER, STRUCTS, Abi, size_of

MAX_SCRATCH_PER_OP = 12
"""Maximum number of scratch buffers of an operator (kMaxScratchBuffersPerOp, micro_allocator.cc)."""


@dataclass(frozen=True, slots=True)
class Arena:
    abi: Abi
    head: int
    """Bytes of activations and scratch buffers."""
    tail: int
    """Bytes of persistent data: structs, per-channel arrays, and variable tensors."""
    total: int
    """Sum of the arena's head and tail. After AllocateTensors, arena_used_bytes() returns `total` if the arena's size
    is a multiple of 16.
    """
    min: int
    """Size of the smallest arena in which AllocateTensors succeeds, up to 15 B below `total` because of alignment
    gaps.
    """
    unknown: tuple[str, ...] = ()
    """Names of the operators whose allocations are unknown, so that all sizes are lower bounds."""
    kernels: Kernels = "reference"
    variables: int = 0
    """Number of resource variables that the application must create with MicroResourceVariables."""
    variable_bytes: int = 0
    """Bytes of MicroResourceVariables and of the variables' values, which are part of the tail."""

    @property
    def exact(self) -> bool:
        return not self.unknown

    def figure(self, nbytes: int) -> str:
        """Return a number of bytes as text, with "at least" before a lower bound."""
        return f"{nbytes:,}" if self.exact else f"at least {nbytes:,}"

    def to_json(self) -> dict[str, Any]:
        """Return the figures as JSON. If only lower bounds are known, the figures are null, and the key `at_least` has
        the lower bounds.
        """
        figures = {"head": self.head, "tail": self.tail, "total": self.total, "min": self.min}
        return {
            **asdict(self),
            **(figures if self.exact else dict.fromkeys(figures)),
            "at_least": None if self.exact else figures,
        }

    @property
    def needed(self) -> int:
        """Size in bytes of an arena in which AllocateTensors succeeds."""
        return max(self.total, self.min)


def predict(model: bytes | Model, abi: Abi = "ilp32", *, library: Library = REFERENCE) -> Arena:
    """Predict the arena of a model with the kernels of `library`. Raises ModelError for bytes that are not a model, and
    for an offline plan that TFLM rejects.
    """
    return predict_together((model,), abi, libraries=(library,))


def predict_together(models: Sequence[bytes | Model], abi: Abi = "ilp32", *, libraries: Sequence[Library]) -> Arena:
    """Predict the arena of several interpreters that are created one after the other with one MicroAllocator. The
    interpreters share one head, as large as the largest head. The tails of the interpreters follow each other, but the
    structs of the allocator exist only once. Raises the errors of predict().
    """
    events: list[_Event] = []
    unknown: set[str] = set()
    floor = variables = variable_bytes = 0
    for number, (model, library) in enumerate(zip(models, libraries, strict=True)):
        source = read(model) if isinstance(model, bytes) else model
        replay = _replay(source, abi, library, floor=floor, first=number == 0)
        events, unknown, floor = events + replay.events, unknown | replay.unknown, replay.floor
        variables, variable_bytes = variables + replay.variables, variable_bytes + replay.variable_bytes
    ample = aligned(sum(size + align for _, size, align in events))  # room for all allocations without any overlap
    ends = _ends(events, ample)
    if ends.missing:
        raise AssertionError("the arena is full, though it has room for everything side by side")
    head, tail = ends.head, ample - ends.tail
    smallest = _smallest(events, head + tail)
    kernels = libraries[0].name
    return Arena(abi, head, tail, head + tail, smallest, tuple(sorted(unknown)), kernels, variables, variable_bytes)


@dataclass(frozen=True, slots=True)
class Head:
    wanted: Wanted
    offsets: tuple[int, ...]


def head_plan(model: Model, abi: Abi = "ilp32", library: Library = REFERENCE) -> Head:
    """Return the buffers in the head of the arena with their offsets."""
    wanted = _wanted(_replay(model, abi, library))
    return Head(wanted, greedy_planner.place(wanted.requests))


class _Where(enum.Enum):
    TAIL = enum.auto()
    HEAD = enum.auto()
    """A HEAD event sets the size of the head section, and frees all temporary allocations."""
    TEMP = enum.auto()
    """A TEMP event allocates bytes above the head until the next RESET or HEAD event."""
    RESET = enum.auto()
    LENT = enum.auto()
    """A LENT event gives TFLM's planner all free bytes, and states how many bytes the planner needs."""


_Event = tuple[_Where, int, int]


@dataclass(slots=True)
class _Replay:
    tree: Any
    graphs: tuple[Graph, ...]
    abi: Abi
    library: Library
    events: list[_Event] = field(default_factory=list)
    scratch: list[ScratchRequest] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    variables: int = 0
    filled: set[Variable] = field(default_factory=set)
    variable_bytes: int = 0
    floor: int = 0
    """Bytes of the arena's head that earlier interpreters have reserved."""

    def add(self, where: _Where, size: int = 0, align: int = 1) -> None:
        self.events.append((where, size, align))

    def add_variable(self, size: int) -> None:
        self.add(_Where.TAIL, size, ALIGNMENT)
        self.variable_bytes += aligned(size)

    def add_struct(self, where: _Where, name: str, count: int = 1, align: int = 0) -> None:
        layout = STRUCTS[name].of(self.abi)
        self.add(where, layout.size * count, align or layout.align)

    def add_tensor(self, where: _Where, subgraph: int, tensor: int) -> None:
        """Add a TfLiteTensor and its quantization (InitializeTfLiteTensorFromFlatbuffer, micro_allocator.cc)."""
        self.add_struct(where, "TfLiteTensor")
        q = self.tree.subgraphs[subgraph].tensors[tensor].quantization
        if q is not None and _length(q.scale) and _length(q.zeroPoint):
            self.add_struct(where, "TfLiteAffineQuantization")
            self.add_struct(where, "int", 1 + _length(q.scale))  # the zero points of a tensor are a TfLiteIntArray

    def kernel(self, op: Op) -> Kernel:
        name = kernel_name(op)
        if name not in self.library.rows:
            self.unknown.add(name)
        return self.library.rows.get(name, UNKNOWN)


def _replay(source: Model, abi: Abi, library: Library, *, floor: int = 0, first: bool = True) -> _Replay:
    replay = _Replay(source.tree, source.graphs, abi, library, floor=floor)
    for step in (_create,) * first + (_create_variables, _start, _parse_and_init, _prepare, _plan, _expose):
        step(replay)
    return replay


def _create(replay: _Replay) -> None:
    """Replay MicroAllocator::Create, which allocates the allocators and the planner."""
    for name in ("SingleArenaBufferAllocator", "GreedyMemoryPlanner", "MicroAllocator"):
        replay.add_struct(_Where.TAIL, name)


def _create_variables(replay: _Replay) -> None:
    """Replay MicroResourceVariables::Create, which the application calls, for all of the model's variables."""
    replay.variables = len(variables(replay.graphs))
    if replay.variables:
        replay.add_variable(size_of("MicroResourceVariables", replay.abi))
        replay.add_variable(size_of("MicroResourceVariable", replay.abi) * replay.variables)


def _start(replay: _Replay) -> None:
    """Replay MicroAllocator::StartModelAllocation, which allocates tensors and nodes."""
    replay.add_struct(_Where.TAIL, "MicroBuiltinDataAllocator")
    _reserve_scratch_requests(replay)
    replay.add_struct(_Where.TAIL, "SubgraphAllocations", len(replay.graphs))
    for graph in replay.graphs:
        replay.add_struct(_Where.TAIL, "TfLiteEvalTensor", len(graph.tensors))
    for graph in replay.graphs:
        replay.add_struct(_Where.TAIL, "NodeAndRegistration", len(graph.ops))


def _reserve_scratch_requests(replay: _Replay) -> None:
    """Reserve space for all scratch requests so far, and for the scratch requests of the next operator."""
    replay.add_struct(_Where.HEAD, "ScratchBufferRequest", len(replay.scratch) + MAX_SCRATCH_PER_OP)


def _parse_and_init(replay: _Replay) -> None:
    """Allocate all builtin data (PrepareNodeAndRegistrationDataFromFlatbuffer), then call each operator's Init."""
    ops = [(graph, op) for graph in replay.graphs for op in graph.ops]
    for _, op in ops:
        if params := replay.kernel(op).params:
            replay.add_struct(_Where.TAIL, params)
    for graph, op in ops:
        kernel = replay.kernel(op)
        if kernel.state and size_of(kernel.state, replay.abi):
            replay.add_struct(_Where.TAIL, kernel.state, align=ALIGNMENT)
        for step in kernel.init(node_of(graph, op), replay.abi):
            if isinstance(step, Persistent):
                replay.add(_Where.TAIL, step.nbytes, ALIGNMENT)


def _prepare(replay: _Replay) -> None:
    """Replay MicroInterpreterGraph::PrepareSubgraphs, which calls each Prepare, then frees its temporaries."""
    for number, graph in enumerate(replay.graphs):
        named = handles(graph)
        for position, op in enumerate(graph.ops):
            for step in replay.kernel(op).prepare(node_of(graph, op), replay.abi):
                match step:
                    case Persistent(size):
                        replay.add(_Where.TAIL, size, ALIGNMENT)
                    case TempTensor(tensor):
                        replay.add_tensor(_Where.TEMP, number, tensor.id)
                    case ResourceBuffer(handle, size):
                        if (name := named.get(handle.id)) and name not in replay.filled:
                            replay.filled.add(name)
                            replay.add_variable(size)
                    case Scratch(size):
                        replay.scratch.append(ScratchRequest(number, position, size))
            replay.add(_Where.RESET)
            _reserve_scratch_requests(replay)


def _plan(replay: _Replay) -> None:
    """Replay MicroAllocator::FinishModelAllocation, which allocates the planner's data, then the planned head."""
    if replay.scratch:
        replay.add_struct(_Where.TAIL, "ScratchBufferHandle", len(replay.scratch))
    tensors = sum(len(graph.tensors) for graph in replay.graphs)
    # TFLM stores the index of each subgraph's first tensor as a size_t
    replay.add_struct(_Where.TEMP, "pointer", len(replay.graphs))
    replay.add_struct(_Where.TEMP, "AllocationInfo", tensors + len(replay.scratch))
    offsets = offline_offsets(replay.tree, tensors)
    for graph in replay.graphs:
        for i, tensor in graph.tensors.items():
            # TFLM gives tensor i of every subgraph the offset of tensor i of subgraph 0
            if planned_at_tail(tensor, ONLINE if offsets is None else offsets[i]):
                replay.add(_Where.TAIL, nbytes(tensor), ALIGNMENT)
    wanted = _wanted(replay).requests
    replay.add(_Where.LENT, PLANNER_BYTES_PER_BUFFER * len(wanted), ALIGNMENT)
    replay.floor = max(replay.floor, greedy_planner.high_water(wanted, greedy_planner.place(wanted)))
    replay.add(_Where.HEAD, replay.floor, ALIGNMENT)


def _wanted(replay: _Replay) -> Wanted:
    tensors = sum(len(graph.tensors) for graph in replay.graphs)
    return requests(replay.graphs, replay.scratch, offline_offsets(replay.tree, tensors))


def _expose(replay: _Replay) -> None:
    """Replay the end of MicroInterpreter::AllocateTensors, which allocates inputs and outputs as TfLiteTensors."""
    graph = replay.graphs[0]
    for ids in (graph.inputs, graph.outputs):
        replay.add_struct(_Where.TAIL, "pointer", len(ids), align=ALIGNMENT)
        for i in ids:
            replay.add_tensor(_Where.TAIL, 0, i)


def _length(vector: Any) -> int:
    return 0 if vector is None else len(vector)


class _Ends(NamedTuple):
    head: int
    tail: int
    missing: int = 0
    """Number of bytes that the first failing allocation lacks, or 0 if no allocation fails."""


def _ends(events: Iterable[_Event], size: int) -> _Ends:
    """Replay SingleArenaBufferAllocator (arena_allocator/single_arena_buffer_allocator.cc) in an arena of `size` bytes,
    up to the first event that does not fit. TFLM lets some events overwrite a temporary tensor. Here, such events do
    not fit, so that events which fit an arena also fit every larger arena.
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
    """Return the size of the smallest arena in which all events fit. The argument `total` is the number of bytes that
    the events use if the arena is large enough. In a larger arena, alignment gaps can shrink, so `missing - ALIGNMENT`
    more bytes may be enough.
    """
    low, high = max(0, total - ALIGNMENT), total
    while missing := _ends(events, high).missing:
        low, high = max(high + 1, high + missing - ALIGNMENT), high + missing
    return bisect.bisect_left(range(high), True, lo=low, key=lambda size: not _ends(events, size).missing)
