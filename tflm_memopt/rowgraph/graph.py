"""Defines the graph on which planner, checker and lowering work.

Some operators run row by row, in regions, and TFLM's own kernels run all other operators.
"""

import enum
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.ops.rowop import RowOp


class Space(enum.Enum):
    """Places of a tensor's rows if the tensor is never whole in the arena."""

    STREAM = "stream"
    """The caller writes a few rows at a time into the arena."""
    EXTERNAL = "external"
    """The caller's buffer holds all rows and is only read."""
    STATE = "state"
    """A rolling buffer keeps the rows from one inference to the next."""
    LINK = "link"
    """Another device sends the tensor's rows in ascending order."""
    SLOW = "slow"
    """All rows are in slow memory outside the arena, for example PSRAM."""


@dataclass(frozen=True, slots=True)
class InputSource:
    """A model input that is streamed into the arena or read from the caller's buffer."""

    tensor: int
    height: int
    row_bytes: int
    pushed: int
    """Number of rows that the caller passes at a time, or 0 if the input is in the caller's buffer."""
    shape: tuple[int, ...] = ()
    """Shape of the input in the original model."""

    @property
    def space(self) -> Space:
        return Space.STREAM if self.pushed else Space.EXTERNAL


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """An input that holds the last rows of an endless sequence (rowgraph/sliding.py)."""

    rows: int
    new: int
    """Number of rows that each inference adds to the input."""
    whole: "RowGraph" = field(compare=False, repr=False)
    """The original model, which reads the whole input in each inference."""

    @property
    def inferences(self) -> int:
        """Number of inferences after a reset until all rows of the input are known."""
        return -(-self.rows // self.new)


@dataclass(frozen=True, slots=True)
class Rematerialisation:
    """Operators that run a second time for one reader of their result (rowgraph/rematerialisation.py)."""

    reader: int
    """Index of the operator that reads the result of the second run."""
    ops: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """Operators of the model that become one custom operator."""

    ops: tuple[int, ...]
    views: tuple[int, ...]
    """Indices of the removed operators, which only change a shape."""
    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]

    @property
    def number(self) -> int:
        """The smallest Op.index of the region's operators."""
        return min(self.ops)

    @property
    def width(self) -> int:
        return len(self.inputs) + len(self.outputs)


@dataclass(frozen=True, slots=True, eq=False)
class AccessOrder:
    """The order in which a kernel reads and writes bytes. Each step of the kernel reads before it writes."""

    last_read: NDArray[np.int64]
    """For each input byte, the last step that reads the byte, or -1 if no step reads the byte."""
    written: NDArray[np.int64]
    """For each output byte, the first step that writes the byte."""


@dataclass(frozen=True, slots=True)
class StoredIn:
    """Place of a tensor that is a part of the tensor `storage` and begins at the byte `first`."""

    storage: TensorId
    first: int = 0


@dataclass(frozen=True, slots=True)
class BuiltinNode:
    """An operator that TFLM's own kernel runs."""

    op: int
    inputs: tuple[TensorId, ...]
    """Tensors that the operator reads at run time, without constants and variables."""
    outputs: tuple[TensorId, ...]
    macs: int = 0
    """Number of multiply-accumulates, which is used only for models without custom operators."""
    scratch: int = 0
    """Number of bytes that TFLM's memory planner takes for the kernel's scratch, and for subgraphs that the operator
    runs.
    """
    orders: Mapping[TensorId, Callable[[], AccessOrder]] = field(default_factory=dict, compare=False)
    """Order of reads and writes for each input that the output may overwrite."""
    copies: bool = False
    """Whether the kernel only copies bytes, and does nothing if the bytes are already in place."""


Node = Region | BuiltinNode


@dataclass(frozen=True)
class RowGraph:
    model: Graph
    nodes: tuple[Node, ...]
    ops: Mapping[int, RowOp]
    """Maps the Op.index of each operator in a region to the operator in row form."""
    source: InputSource | None = None
    window: SlidingWindow | None = None
    rematerialisations: tuple[Rematerialisation, ...] = ()
    parts: Mapping[TensorId, StoredIn] = field(default_factory=dict)
    """Maps each tensor that is a part of another tensor to its place in the other tensor."""
    slow: frozenset[TensorId] = frozenset()

    @cached_property
    def macs(self) -> int:
        return sum(op.macs for op in self.ops.values()) + sum(node.macs for node in self.builtins)

    @cached_property
    def spaces(self) -> Mapping[TensorId, Space]:
        """Maps a tensor to its space, unless the space is the arena."""
        found = {state.tensor: Space.STATE for op in self.ops.values() for state in op.rolling_buffers}
        found |= {op.inputs[0]: Space.LINK for op in self.ops.values() if op.receives}
        found |= dict.fromkeys(self.slow, Space.SLOW)
        return found | ({self.source.tensor: self.source.space} if self.source else {})

    @cached_property
    def outside(self) -> frozenset[TensorId]:
        """Tensors that have no byte in the arena."""
        return frozenset(t for t, space in self.spaces.items() if space is not Space.STREAM)

    @cached_property
    def steps(self) -> tuple[tuple[int, RowOp | BuiltinNode], ...]:
        """Pairs of Op.index and operator, in an order in which the operators can run."""
        found: list[tuple[int, RowOp | BuiltinNode]] = []
        for node in self.nodes:
            found += ((key, self.ops[key]) for key in node.ops) if isinstance(node, Region) else [(node.op, node)]
        return tuple(found)

    @cached_property
    def builtins(self) -> tuple[BuiltinNode, ...]:
        return tuple(node for node in self.nodes if isinstance(node, BuiltinNode))

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Region))


def tensor_sizes(graph: RowGraph) -> dict[TensorId, int]:
    """Return the size in bytes of each tensor that may be in the arena as a whole."""
    sizes = {t: tensor.nbytes for t, tensor in graph.model.tensors.items() if not tensor.constant}
    made = {op.output: op.writes.nbytes for op in graph.ops.values()}
    return sizes | made | dict.fromkeys(graph.outside, 0)


def with_rows(shape: tuple[int, ...], height: int, rows: int) -> tuple[int, ...] | None:
    """Return a tensor's shape after the number of rows has changed from `height` to `rows`. The axis of the rows has
    `height` elements, and each axis before it has one element. Return None if the shape has no axis of rows.

    >>> with_rows((1, 8, 6, 3), 8, 2), with_rows((1, 48, 3), 8, 2)
    ((1, 2, 6, 3), None)
    """
    for axis, size in enumerate(shape):
        if size == height:
            return (*shape[:axis], rows, *shape[axis + 1 :])
        if size != 1:
            break
    return None


def may_be_slow(graph: RowGraph) -> frozenset[TensorId]:
    """Return the tensors that only one region uses and that share no bytes with other tensors.

    TFLM needs the model's inputs and outputs and the tensors of TFLM's own kernels in the arena. A tensor that one
    region passes to another region stays in fast memory, since each region is run and verified separately.
    """
    made = {op.output for op in graph.ops.values() if not op.leaves}
    known = {*graph.model.inputs, *graph.model.outputs, *(t for node in graph.nodes for t in node.inputs)}
    shared = {*graph.parts, *(part.storage for part in graph.parts.values())}
    return frozenset(made - known - shared - graph.spaces.keys())


def with_slow(graph: RowGraph, tensors: Collection[TensorId]) -> RowGraph:
    """Return a graph with tensors in slow memory. Raises PlanError if a tensor cannot be in slow memory."""
    if not tensors:
        return graph
    slow = frozenset(tensors)
    if wrong := slow - may_be_slow(graph):
        raise PlanError(f"tensor {min(wrong)} cannot be in slow memory")

    def without(region: Region) -> Region:
        inputs = tuple(t for t in region.inputs if t not in slow)
        return replace(region, inputs=inputs, outputs=tuple(t for t in region.outputs if t not in slow))

    nodes = tuple(without(node) if isinstance(node, Region) else node for node in graph.nodes)
    return replace(graph, nodes=nodes, slow=slow)
