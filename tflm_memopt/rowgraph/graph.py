"""Defines the row graph, on which planner, checker and lowering work.

In regions, operators run row by row. TFLM's own kernels run the operators between the regions.
"""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.ops.rowop import RowOp


class Space(enum.Enum):
    """Places outside the arena where operators find the rows of a tensor."""

    STREAM = "stream"
    """The caller passes a few rows at a time to the arena, which also holds older rows that are still needed."""
    EXTERNAL = "external"
    """The caller's buffer holds all rows and is only read."""
    STATE = "state"
    """A rolling buffer holds the rows and outlives the inference."""
    LINK = "link"
    """Another device sends the rows in order."""
    SLOW = "slow"
    """All rows are in slow memory outside the arena, for example PSRAM."""


@dataclass(frozen=True, slots=True)
class InputSource:
    """A model input outside the arena, with `height` rows of `row_bytes` bytes."""

    tensor: int
    height: int
    row_bytes: int
    pushed: int
    """Number of rows that the caller passes at a time, or 0 if the input is in the caller's buffer."""
    shape: tuple[int, ...] = ()
    """Shape of the input in the original model. A streamed input's tensor has only the rows passed at a time."""

    @property
    def space(self) -> Space:
        return Space.STREAM if self.pushed else Space.EXTERNAL


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """An input that holds the last rows of an endless sequence (rowgraph/sliding.py)."""

    rows: int
    new: int
    """Number of rows that each inference adds to the input."""

    @property
    def inferences(self) -> int:
        """Number of inferences after a reset until all rows of the input are known."""
        return -(-self.rows // self.new)


@dataclass(frozen=True, slots=True)
class Rematerialisation:
    """Operators that run a second time for one reader of their result (rowgraph/rematerialisation.py)."""

    reader: int
    """Number of the operator that reads the result of the second run."""
    ops: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """Operators of the model that become one custom operator."""

    ops: tuple[int, ...]
    views: tuple[int, ...]
    """Numbers of operators that only change a shape, and that disappear in the region."""
    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]

    @property
    def number(self) -> int:
        """The smallest Op.index of the operators, whatever the order of the operators is."""
        return min(self.ops)

    @property
    def width(self) -> int:
        return len(self.inputs) + len(self.outputs)


@dataclass(frozen=True, slots=True, eq=False)
class AccessOrder:
    """The order in which a kernel reads and writes bytes, in numbered steps with reads before writes."""

    last_read: NDArray[np.int64]
    """For each byte of the input, the step that reads this byte last, or -1."""
    written: NDArray[np.int64]
    """For each byte of the output, the step that writes this byte first."""


@dataclass(frozen=True, slots=True)
class StoredIn:
    """Place of a tensor that is a part of another tensor and begins at its byte `first`."""

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
    """Number of multiply-accumulates, which is used only if TFLM's kernels run all operators."""
    scratch: int = 0
    """Bytes of scratch that the kernel requests from TFLM's memory planner."""
    orders: Mapping[TensorId, Callable[[], AccessOrder]] = field(default_factory=dict, compare=False)
    """For each input that the output may overwrite, the order in which the kernel reads and writes."""
    copies: bool = False
    """Whether the kernel only copies bytes, and does nothing if the bytes are already in place."""


Node = Region | BuiltinNode


@dataclass(frozen=True)
class RowGraph:
    model: Graph
    """The operators in their original form, and all tensors of the rewritten model."""
    nodes: tuple[Node, ...]
    ops: Mapping[int, RowOp]
    """The operators of all regions by Op.index, on the tensors of the rewritten model."""
    source: InputSource | None = None
    window: SlidingWindow | None = None
    rematerialisations: tuple[Rematerialisation, ...] = ()
    parts: Mapping[TensorId, StoredIn] = field(default_factory=dict)
    """Tensors whose bytes are a part of another tensor. The nodes name the other tensor instead."""
    slow: frozenset[TensorId] = frozenset()

    @cached_property
    def macs(self) -> int:
        return sum(op.macs for op in self.ops.values()) + sum(node.macs for node in self.builtins)

    @cached_property
    def spaces(self) -> Mapping[TensorId, Space]:
        """For each tensor that operators read from outside the arena, the place where it lives."""
        found = {state.tensor: Space.STATE for op in self.ops.values() for state in op.rolling_buffers}
        found |= {op.inputs[0]: Space.LINK for op in self.ops.values() if op.receives}
        found |= dict.fromkeys(self.slow, Space.SLOW)
        return found | ({self.source.tensor: self.source.space} if self.source else {})

    @cached_property
    def outside(self) -> frozenset[TensorId]:
        """Tensors that have no byte in the arena."""
        return frozenset(t for t, space in self.spaces.items() if space is not Space.STREAM)

    @cached_property
    def builtins(self) -> tuple[BuiltinNode, ...]:
        return tuple(node for node in self.nodes if isinstance(node, BuiltinNode))

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Region))


def tensor_sizes(graph: RowGraph) -> dict[TensorId, int]:
    """Return the number of bytes of every tensor that may be in the arena as a whole."""
    sizes = {t: tensor.nbytes for t, tensor in graph.model.tensors.items() if not tensor.constant}
    made = {op.output: op.writes.nbytes for op in graph.ops.values()}
    return sizes | made | dict.fromkeys(graph.outside, 0)


def with_rows(shape: tuple[int, ...], height: int, rows: int) -> tuple[int, ...] | None:
    """Return a tensor's shape with `rows` instead of `height` rows, or None if the first axis does not count rows.

    >>> with_rows((1, 8, 6, 3), 8, 2), with_rows((1, 48, 3), 8, 2)
    ((1, 2, 6, 3), None)
    """
    for axis, size in enumerate(shape):
        if size == height:
            return (*shape[:axis], rows, *shape[axis + 1 :])
        if size != 1:
            break
    return None
