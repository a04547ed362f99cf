"""The row graph: operators as rows, gathered in regions, with the operators that stay builtin between them.

It is what the planner plans, the checker checks and the lowering lowers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.ops.rowop import RowOp

MAX_IO = 16
"""Inputs and outputs of one custom operator, together: TMO_MAX_IO."""


@dataclass(frozen=True, slots=True)
class InputSource:
    """The model's input where it is not in the arena as a whole: it has `height` rows of `row_bytes`."""

    tensor: int
    height: int
    row_bytes: int
    pushed: int
    """Rows that come at once; 0: the input lies in a buffer of the caller's."""


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """An input that is the last rows of an endless sequence (rowgraph/sliding.py)."""

    rows: int
    new: int
    """Rows that each inference brings."""

    @property
    def inferences(self) -> int:
        """After a reset, so many fill it."""
        return -(-self.rows // self.new)


@dataclass(frozen=True, slots=True)
class SecondPass:
    """Operators that run a second time, for one reader of what they make (rowgraph/second_pass.py)."""

    reader: int
    """Its key."""
    ops: tuple[int, ...]
    """Keys, in the order in which they run."""


@dataclass(frozen=True, slots=True)
class Region:
    """Row operators that become one custom operator."""

    ops: tuple[int, ...]
    """Keys (Op.index) in schedule order."""
    views: tuple[int, ...]
    """View operators that vanish in it."""
    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]

    @property
    def number(self) -> int:
        """Names the region, in whatever order its operators are: the first of them in the model."""
        return min(self.ops)

    @property
    def width(self) -> int:
        """Inputs and outputs."""
        return len(self.inputs) + len(self.outputs)


@dataclass(frozen=True, slots=True, eq=False)
class AccessOrder:
    """When a kernel reads an input for the last time, and when it first writes its output.

    Moments are steps of the kernel, in each of which it reads before it writes.
    """

    last_read: NDArray[np.int64]
    """By byte of the input: the step, -1 where it is never read."""
    written: NDArray[np.int64]
    """By byte of the output."""


@dataclass(frozen=True, slots=True)
class StoredIn:
    """Where a tensor's bytes are that has none of its own: in another one, from byte `first` on."""

    storage: TensorId
    first: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """An operator that stays builtin."""

    op: int
    inputs: tuple[TensorId, ...]
    """Activations only; variables keep their bytes from one inference to the next, outside of every plan."""
    outputs: tuple[TensorId, ...]
    macs: int = 0
    """Counted where only builtin operators run."""
    scratch: int = 0
    """Bytes that its kernel asks TFLM's planner for."""
    orders: Mapping[TensorId, Callable[[], AccessOrder]] = field(default_factory=dict, compare=False)
    """Inputs that its only output may grow into, and in which order its kernel goes through both."""
    copies: bool = False
    """Its kernel only copies bytes, and leaves alone what is in its place already."""


Node = Region | Kept


@dataclass(frozen=True)
class RowGraph:
    """The whole model as nodes, in an order in which they can run."""

    model: Graph
    """What they are made of: all operators as the model states them, all tensors of the rewritten model."""
    nodes: tuple[Node, ...]
    ops: Mapping[int, RowOp]
    """The row operators of all regions, by Op.index; their tensors are those of the rewritten model."""
    frame: InputSource | None = None
    """The model's input, where it is not in the arena as a whole."""
    window: SlidingWindow | None = None
    """The model's input, where each inference brings a part of it."""
    passes: tuple[SecondPass, ...] = ()
    """Those that its operators contain (rowgraph/second_pass.py)."""
    parts: Mapping[TensorId, StoredIn] = field(default_factory=dict)
    """Tensors whose bytes are those of others: nodes name these."""

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates of all that is planned, each output once."""
        return sum(op.macs for op in self.ops.values()) + sum(node.macs for node in self.kept)

    @cached_property
    def external(self) -> frozenset[TensorId]:
        """Tensors that operators read from outside the arena."""
        frame = {self.frame.tensor} if self.frame and not self.frame.pushed else ()
        return self.states.union(frame, self.on_links)

    @cached_property
    def on_links(self) -> frozenset[TensorId]:
        """Tensors that stand for rows which come from other devices."""
        return frozenset(op.inputs[0] for op in self.ops.values() if op.receives)

    @cached_property
    def states(self) -> frozenset[TensorId]:
        """Tensors that outlive an inference."""
        return frozenset(ring.tensor for op in self.ops.values() for ring in op.rings)

    @cached_property
    def kept(self) -> tuple[Kept, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Kept))

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Region))


def tensor_sizes(graph: RowGraph) -> dict[TensorId, int]:
    """Bytes of every tensor that can be whole."""
    sizes = {t: tensor.nbytes for t, tensor in graph.model.tensors.items() if not tensor.constant}
    made = {op.output: op.writes.nbytes for op in graph.ops.values()}
    return sizes | made | dict.fromkeys(graph.states | graph.on_links, 0)
