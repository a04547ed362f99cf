"""Finds the tensors of an operator, the rows of each tensor, and the size of the operator's window."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tflm_memopt.model.graph import ABSENT, ITEM_BYTES, Graph, Op, Tensor, TensorId
from tflm_memopt.ops.custom import CUSTOM_OPERATORS
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp, Rows

EXPLICIT_PADDING = "explicit_padding"
"""Key of the option with the padding of a PAD that was merged into the operator: (top, bottom, left, right)."""

PIECE = "piece"
"""Key of the option that states which slice an output of SPLIT, SPLIT_V or UNPACK copies: (axis, begin, end)."""

STEPS = "steps"
"""Key of the option that lists, in order, the operators that a COPY replaces."""

EVERY_OPERAND = ("CONCATENATION", "PACK")

CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D")
REDUCTIONS = frozenset({"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"})
COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
TWO_OPERANDS = (
    "ADD", "SUB", "MUL", "DIV", "FLOOR_DIV", "FLOOR_MOD", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "PRELU",
    "LOGICAL_AND", "LOGICAL_OR", *COMPARISONS,
)  # fmt: skip

VARIABLES: Mapping[str, tuple[int, ...]] = {"SVDF": (4,), "UNIDIRECTIONAL_SEQUENCE_LSTM": (18, 19)}
"""For SVDF and LSTM, indices of the operands that are variables, which no other operator uses."""

ONE_PIXEL = 1024
"""Number of units into which RESIZE_BILINEAR divides a pixel."""

AXES = "axes"
"""Option of MEAN that lists the reduced axes and replaces operand 1."""


def natural_rows(shape: tuple[int, ...]) -> Rows | None:
    """Return the default division of a tensor into rows, or None for a batch, a scalar or more than four dimensions.

    >>> natural_rows((1, 4, 5, 6)), natural_rows((1, 1, 5, 6)), natural_rows((1, 6))
    (Rows(h=4, w=5, c=6), Rows(h=5, w=1, c=6), Rows(h=1, w=1, c=6))
    """
    match shape:
        case (1, 1, w, c) | (1, w, c) | (w, c):
            return Rows(w, 1, c)
        case (1, h, w, c):
            return Rows(h, w, c)
        case (c,):
            return Rows(1, 1, c)
    return None


def any_rows(shape: tuple[int, ...], like: int = 0) -> Rows:
    """Divide a tensor into rows like natural_rows(). If natural_rows() returns None, make `like` rows if possible.

    >>> any_rows((1, 4, 5, 2, 3), 4), any_rows((2, 4, 5, 3))
    (Rows(h=4, w=10, c=3), Rows(h=8, w=5, c=3))
    """
    natural = natural_rows(shape)
    if natural is not None or not shape:
        return natural or Rows(1, 1, 1)
    heights = [math.prod(shape[:n]) for n in range(1, len(shape))]
    height = like if like in heights else heights[-2]
    return Rows(height, math.prod(shape[:-1]) // height, shape[-1])


def broadcast_rows(shape: tuple[int, ...], output: tuple[int, ...]) -> Rows:
    """Divide a broadcast operand of at most four dimensions into rows, as natural_rows() divides the output.

    >>> broadcast_rows((6,), (1, 4, 5, 6)), broadcast_rows((5, 1), (1, 1, 5, 6))
    (Rows(h=1, w=1, c=6), Rows(h=5, w=1, c=1))
    """
    (_, h, w, c), (_, out_h, _, _) = ((1,) * (4 - len(s)) + s for s in (shape, output))
    return Rows(h, w, c) if out_h > 1 else Rows(w, 1, c)


def byte_shape(tensor: Tensor) -> tuple[int, ...]:
    """Return a tensor's shape, with a last dimension in bytes instead of elements."""
    size = ITEM_BYTES.get(tensor.dtype, 1)
    return (*tensor.shape[:-1], tensor.shape[-1] * size) if tensor.shape else tensor.shape


class Span(NamedTuple):
    output: int
    before: int
    after: int


def span(size: int, kernel: int, stride: int, dilation: int, padding: str | tuple[int, int]) -> Span:
    """Return output size and padding of a window as ComputeOutSize and ComputePaddingWithOffset do (kernels/padding.h).

    With explicit padding (before, after), the output has the size of a VALID window over the padded input.

    >>> span(4, 3, 2, 1, "SAME")
    Span(output=2, before=0, after=1)
    """
    if stride == 0:
        return Span(0, 0, 0)
    extent = (kernel - 1) * dilation + 1
    if not isinstance(padding, str):
        before, after = padding
        return Span((size + before + after - extent) // stride + 1, before, after)
    output = -(-size // stride) if padding == "SAME" else (size + stride - extent) // stride
    total = max(0, (output - 1) * stride + extent - size)
    return Span(output, total // 2, total - total // 2)


@dataclass(frozen=True, slots=True)
class OperatorContext:
    """An operator of a graph, and the layouts of the rows that earlier operators write."""

    graph: Graph
    op: Op
    aliases: Mapping[TensorId, TensorId] = field(default_factory=dict)
    """Maps the output of each view to the tensor that holds its bytes."""
    written: Mapping[TensorId, Rows] = field(default_factory=dict)

    def tensor(self, k: int) -> Tensor | None:
        present = k < len(self.op.inputs) and self.op.inputs[k] != ABSENT
        return self.graph.tensors[self.op.inputs[k]] if present else None

    def input(self, k: int = 0) -> Tensor:
        return self.graph.tensors[self.op.inputs[k]]

    @property
    def activations(self) -> tuple[Tensor, ...]:
        return tuple(self.input(k) for k in self.read)

    @property
    def read(self) -> tuple[int, ...]:
        """Indices of the operands that the operator reads at run time. Most operators read only operand 0."""
        kind, own = self.op.type, CUSTOM_OPERATORS.get(self.op.type)
        if kind in ("BATCH_MATMUL", "GATHER_ND"):
            return 0, 1
        counts = {"GATHER": 2, "SELECT_V2": 3} | dict.fromkeys(TWO_OPERANDS, 2)
        count = counts.get(kind, len(self.op.inputs) if kind in EVERY_OPERAND else 0)
        computed = tuple(k for k in range(count) if not ((tensor := self.tensor(k)) and tensor.constant))
        return computed or tuple(range(count or (own.operands if own else 1)))

    @property
    def output(self) -> Tensor:
        return self.graph.tensors[self.op.outputs[0]]

    def storage(self, k: int = 0) -> TensorId:
        """Return the tensor that holds operand k's bytes."""
        tensor = self.op.inputs[k]
        while tensor in self.aliases:
            tensor = self.aliases[tensor]
        return tensor

    def row_op(
        self, kind: Kind, *, reads: tuple[Rows, ...], writes: Rows, operands: Sequence[int] = (), **fields: Any
    ) -> RowOp:
        """The argument `operands` lists the indices of the operands that the RowOp reads. If the argument `operands` is
        empty, the RowOp reads the first operands. Zero points are 0 unless the argument `fields` sets them.
        """
        inputs = tuple(self.storage(k) for k in operands or range(len(reads)))
        zero_points: dict[str, Any] = {"input_zero_points": (0,) * len(inputs), "output_zero_point": 0}
        own = self.op.type, self.op.stands_for, inputs, self.output.id
        return RowOp(kind, *own, reads, writes, **zero_points | fields)

    def producer_rows(self, k: int = 0) -> Rows:
        """Return the number and the size of the rows in which operand k is written. If no known operator writes the
        operand, natural_rows() determines the operand's rows.
        """
        storage = self.storage(k)
        known = self.written.get(storage) or natural_rows(byte_shape(self.graph.tensors[storage]))
        return known or any_rows(byte_shape(self.input(k)))

    def kernel(self) -> tuple[int, int]:
        filter_ = self.tensor(1)
        if filter_ is not None:
            return filter_.shape[1], filter_.shape[2]
        return int(self.op.options["filterHeight"]), int(self.op.options["filterWidth"])

    def strides(self) -> tuple[int, int]:
        return int(self.op.options["strideH"]), int(self.op.options["strideW"])

    def dilations(self) -> tuple[int, int]:
        return int(self.op.options.get("dilationHFactor", 1)), int(self.op.options.get("dilationWFactor", 1))

    def spans(self, tensor: Tensor | None = None) -> tuple[Span, Span]:
        """Return output size and padding of the operator's window, along height and along width. The argument `tensor`
        defaults to the operator's input.
        """
        options, (_, h, w, _) = self.op.options, (tensor or self.input()).shape
        explicit = options.get(EXPLICIT_PADDING)
        vertical, horizontal = (explicit[:2], explicit[2:]) if explicit else (options["padding"],) * 2
        axes = zip((h, w), self.kernel(), self.strides(), self.dilations(), (vertical, horizontal), strict=True)
        high, wide = (span(*axis) for axis in axes)
        return high, wide

    def resize_scales(self) -> tuple[int, int]:
        """Return how far RESIZE_BILINEAR moves in its input from one output row, and output column, to the next, in
        1/1024 of a pixel.
        """
        scales = []
        for size, output in zip(self.input().shape[1:3], self.output.shape[1:3], strict=True):
            less = int(bool(self.op.options["alignCorners"]) and output > 1)
            scales.append((ONE_PIXEL * (size - less) + (output - less) // 2) // (output - less))
        return scales[0], scales[1]

    def reduced(self) -> tuple[bool, ...]:
        axes = self.axes()
        return tuple(a in axes and d > 1 for a, d in enumerate(self.input().shape))

    def is_image(self) -> bool:
        return math.prod(self.input().shape[:-3]) == 1

    def run(self) -> tuple[int, int, int] | None:
        """Return the number of elements before, in and after the reduced axes, or None if the axes are not adjacent."""
        shape, reduced = self.input().shape, self.reduced()
        where = [a for a, gone in enumerate(reduced) if gone]
        first, end = (where[0], where[-1] + 1) if where else (0, 0)
        if any(d > 1 and not gone for d, gone in zip(shape[first:end], reduced[first:end], strict=True)):
            return None
        return math.prod(shape[:first]), math.prod(shape[first:end]), math.prod(shape[end:])

    def axes(self) -> frozenset[int]:
        own, rank = self.op.options.get(AXES), len(self.input().shape)
        operand = self.tensor(1)
        stated = operand.data.flatten().tolist() if operand is not None and operand.data is not None else ()
        return frozenset(int(a) + rank if a < 0 else int(a) for a in (stated if own is None else own))
