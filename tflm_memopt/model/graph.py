"""Represents a model as plain, frozen data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

TensorId = int
ABSENT: TensorId = -1
"""Index that stands for a missing optional operand, such as a bias."""
VIEW = "VIEW"
"""Type of an operator that only changes a tensor's shape."""
WRITE_STATE = "WRITE_STATE"
"""Type of an operator that stores its operand for the next inference. The output of a WRITE_STATE takes no bytes."""
STATE = "state"
"""Key in a WRITE_STATE operator's options for the tensor that holds the state in the next inference."""
FEATURES, TIME = "SVDF_FEATURES", "SVDF_TIME"
"""An SVDF becomes a dense layer (FEATURES) and sums along time (TIME). Both operators have all operands of the SVDF."""
OPERANDS = "operands"
"""Key in a VIEW operator's options for the removed operands, which are all operands but the first."""
VIEW_OF = "view_of"
"""Key in a VIEW operator's options for the type that the operator has in the model file."""
INTERNAL: Mapping[str, str] = {VIEW: "RESHAPE", WRITE_STATE: "state", FEATURES: "SVDF", TIME: "SVDF"}
"""The name, in messages and reports, of each operator type that occurs in no model file."""

ITEM_BYTES: Mapping[str, int] = {
    "FLOAT32": 4, "FLOAT16": 2, "INT32": 4, "UINT8": 1, "INT64": 8, "BOOL": 1, "INT16": 2, "COMPLEX64": 8,
    "INT8": 1, "FLOAT64": 8, "COMPLEX128": 16, "UINT64": 8, "UINT32": 4, "UINT16": 2,
}  # fmt: skip


LONGEST_NAME = 40


def short_name(name: str) -> str:
    """Return the last two parts of a layer's name. If a converter joined the names of several operators, the first name
    counts.

    >>> short_name("sequential_1/re_lu_1/Relu;sequential_1/batch_normalization_1/FusedBatchNormV3")
    're_lu_1/Relu'
    >>> short_name("input_1")
    'input_1'
    """
    first = next((part for part in name.split(";") if part.strip("/ ")), name)
    short = "/".join(first.strip("/").split("/")[-2:])
    return short if len(short) <= LONGEST_NAME else f"{short[: LONGEST_NAME - 1]}…"


@dataclass(frozen=True, slots=True)
class Quantization:
    """A stored number q stands for the real number `scale * (q - zero_point)`. A tensor has one scale, or one scale for
    each channel along dimension `axis`.
    """

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int = 0


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a model. The `id` is an index in the model's list of tensors, or a higher number for a tensor that a
    rewrite added.
    """

    id: TensorId
    name: str
    shape: tuple[int, ...]
    dtype: str
    """Name of the type in the schema, such as INT8 or FLOAT32."""
    quantization: Quantization | None = None
    data: NDArray[Any] | None = field(default=None, compare=False)
    """Values of a constant, in its `shape`, or None for an activation."""
    variable: bool = False
    dynamic: bool = False
    """True if a dimension is unknown until run time."""

    @property
    def label(self) -> str:
        return short_name(self.name)

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.elements * ITEM_BYTES.get(self.dtype, 1)

    @property
    def constant(self) -> bool:
        return self.data is not None


@dataclass(frozen=True, slots=True)
class Op:
    """One operator of a model, whose `options` have the schema's field names (strideH, padding, ...)."""

    index: int
    """Position in the model's operator list, which error messages and reports use."""
    type: str
    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[int, ...] = ()
    """Indices of the model's operators that this operator replaces, or () for only operator `index`."""

    @property
    def kind(self) -> str:
        return str(self.options.get(VIEW_OF) or INTERNAL.get(self.type, self.type))

    @property
    def stands_for(self) -> tuple[int, ...]:
        return self.sources or (self.index,)

    @property
    def number(self) -> int:
        """Operator index in messages: `index`, or the index of the first replaced operator."""
        return self.index if self.index in self.stands_for else self.stands_for[0]


@dataclass(frozen=True, slots=True)
class StateTensor:
    """A tensor whose bytes come from an earlier inference."""

    tensor: TensorId
    fill: int
    """Value of all bytes of the state before the first inference and after a reset."""


@dataclass(frozen=True)
class Graph:
    """A subgraph, whose operators are in a topological order."""

    tensors: Mapping[TensorId, Tensor]
    ops: tuple[Op, ...]
    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]
    states: tuple[StateTensor, ...] = ()
    """Resource variables that became tensors (rewrite/states.py)."""
    subgraphs: tuple[Graph, ...] = ()
    """Only subgraph 0 lists all subgraphs of the model, in the file's order."""

    def producer(self, tensor: TensorId) -> Op | None:
        return self._producers.get(tensor)

    def consumers(self, tensor: TensorId) -> tuple[Op, ...]:
        return self._consumers.get(tensor, ())

    @cached_property
    def _producers(self) -> Mapping[TensorId, Op]:
        return {t: op for op in reversed(self.ops) for t in op.outputs}

    @cached_property
    def _consumers(self) -> Mapping[TensorId, tuple[Op, ...]]:
        found: dict[TensorId, list[Op]] = {}
        for op in self.ops:
            for t in dict.fromkeys(op.inputs):
                found.setdefault(t, []).append(op)
        return {t: tuple(ops) for t, ops in found.items()}


def renamed(tensors: Iterable[TensorId], names: Mapping[TensorId, TensorId]) -> tuple[TensorId, ...]:
    """Return the tensors, each replaced by its value in `names` if it has one."""
    return tuple(names.get(t, t) for t in tensors)


def without_dead(graph: Graph, stays: Callable[[Op], bool] = lambda _: False) -> Graph:
    """Return the graph without unneeded operators. An operator stays if an output of the graph depends on the operator,
    or if the function `stays` returns True.
    """
    wanted, ops = set(graph.outputs), []
    for op in reversed(graph.ops):
        if stays(op) or wanted.intersection(op.outputs):
            wanted.update(op.inputs)
            ops.append(op)
    return replace(graph, ops=tuple(reversed(ops)))
