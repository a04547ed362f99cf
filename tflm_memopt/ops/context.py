"""An operator where it stands: its tensors, how their producers lay them out in rows, the geometry of its window."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tflm_memopt.model.graph import ABSENT, Graph, Op, Tensor, TensorId
from tflm_memopt.ops.described import DESCRIBED
from tflm_memopt.ops.rowop import Rows

EXPLICIT_PADDING = "explicit_padding"
"""Own key of Op.options: (top, bottom, left, right), instead of `padding`; a PAD operator was folded in."""

PIECE = "piece"
"""Own key of Op.options of SPLIT, SPLIT_V and UNPACK: (axis, begin, end) of the input, the operator's one output."""

STEPS = "steps"
"""Own key of Op.options of an operator that moves data: those that it stands for, in order, views among them."""

EVERY_OPERAND = ("CONCATENATION", "PACK")
"""They read all their operands at run time."""

TWO_OPERANDS = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "PRELU")
"""They compute element by element, what is smaller repeated, and one of them may be a constant."""

VARIABLES: Mapping[str, tuple[int, ...]] = {"SVDF": (4,), "UNIDIRECTIONAL_SEQUENCE_LSTM": (18, 19)}
"""Operands of an operator that are variables of its own: it reads and writes them."""

ONE_PIXEL = 1024
"""One pixel in RESIZE_BILINEAR's positions."""

AXES = "axes"
"""Own key of Op.options of MEAN: the axes of its input, instead of those in its second operand."""


def natural_rows(shape: tuple[int, ...]) -> Rows | None:
    """How a tensor is seen in rows when nothing else decides; None for a batch, a scalar or more than four dimensions.

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
    """The natural rows; of batches or more than four dimensions, `like` rows if the first dimensions make so many.

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
    """An operand of at most four dimensions beside an output of batch size 1, in rows as the output's natural ones.

    >>> broadcast_rows((6,), (1, 4, 5, 6)), broadcast_rows((5, 1), (1, 1, 5, 6))
    (Rows(h=1, w=1, c=6), Rows(h=5, w=1, c=1))
    """
    (_, h, w, c), (_, out_h, _, _) = ((1,) * (4 - len(s)) + s for s in (shape, output))
    return Rows(h, w, c) if out_h > 1 else Rows(w, 1, c)


def byte_shape(tensor: Tensor) -> tuple[int, ...]:
    """The shape, an int16 channel counting as two, a float32 channel as four."""
    size = {"INT16": 2, "FLOAT32": 4}.get(tensor.dtype, 1)
    return (*tensor.shape[:-1], tensor.shape[-1] * size) if tensor.shape else tensor.shape


class Span(NamedTuple):
    """A window along one dimension."""

    output: int
    before: int
    after: int
    """Padding at both ends."""


def span(size: int, kernel: int, stride: int, dilation: int, padding: str | tuple[int, int]) -> Span:
    """Output size and padding: ComputeOutSize and ComputePaddingWithOffset (kernels/padding.h).

    Explicit padding, (before, after), is VALID on a padded input.

    >>> span(4, 3, 2, 1, "SAME")
    Span(output=2, before=0, after=1)
    """
    extent = (kernel - 1) * dilation + 1
    if not isinstance(padding, str):
        before, after = padding
        return Span((size + before + after - extent) // stride + 1, before, after)
    output = -(-size // stride) if padding == "SAME" else (size + stride - extent) // stride
    total = max(0, (output - 1) * stride + extent - size)
    return Span(output, total // 2, total - total // 2)


@dataclass(frozen=True, slots=True)
class OperatorContext:
    """One operator of a graph, with what its neighbours decided."""

    graph: Graph
    op: Op
    aliases: Mapping[TensorId, TensorId] = field(default_factory=dict)
    """view -> the tensor whose bytes it shares."""
    written: Mapping[TensorId, Rows] = field(default_factory=dict)
    """How the row operators before this one write their outputs."""

    def tensor(self, k: int) -> Tensor | None:
        """Operand k, None when it is absent."""
        present = k < len(self.op.inputs) and self.op.inputs[k] != ABSENT
        return self.graph.tensors[self.op.inputs[k]] if present else None

    def input(self, k: int = 0) -> Tensor:
        return self.graph.tensors[self.op.inputs[k]]

    @property
    def activations(self) -> tuple[Tensor, ...]:
        """What is read at run time: the first operand; of CONCATENATION all, of GATHER the indices; of ADD and the like
        both, or the one that is no constant; what a user describes.
        """
        if self.op.type in TWO_OPERANDS:
            both = self.input(0), self.input(1)
            return tuple(t for t in both if not t.constant) or both
        own = DESCRIBED.get(self.op.type)
        every = range(len(self.op.inputs) if self.op.type in EVERY_OPERAND else own.operands if own else 1)
        return tuple(self.input(k) for k in {"BATCH_MATMUL": (0, 1), "GATHER": (1,)}.get(self.op.type, every))

    @property
    def output(self) -> Tensor:
        return self.graph.tensors[self.op.outputs[0]]

    def storage(self, k: int = 0) -> TensorId:
        """The tensor that holds operand k's bytes."""
        tensor = self.op.inputs[k]
        while tensor in self.aliases:
            tensor = self.aliases[tensor]
        return tensor

    def producer_rows(self, k: int = 0) -> Rows:
        """How operand k lies in memory: as its producer writes it, else as its shape says."""
        storage = self.storage(k)
        known = (
            self.written.get(storage)
            or natural_rows(byte_shape(self.graph.tensors[storage]))
            or natural_rows(byte_shape(self.input(k)))
        )
        return known or any_rows(byte_shape(self.input(k)))

    def kernel(self) -> tuple[int, int]:
        """Height and width of the window of a convolution or a pool."""
        filter_ = self.tensor(1)
        if filter_ is not None:
            return filter_.shape[1], filter_.shape[2]
        return int(self.op.options["filterHeight"]), int(self.op.options["filterWidth"])

    def strides(self) -> tuple[int, int]:
        return int(self.op.options["strideH"]), int(self.op.options["strideW"])

    def dilations(self) -> tuple[int, int]:
        return int(self.op.options.get("dilationHFactor", 1)), int(self.op.options.get("dilationWFactor", 1))

    def spans(self) -> tuple[Span, Span]:
        """The window along H and along W of a rank-4 input."""
        options, (_, h, w, _) = self.op.options, self.input().shape
        explicit = options.get(EXPLICIT_PADDING)
        vertical, horizontal = (explicit[:2], explicit[2:]) if explicit else (options["padding"],) * 2
        (kernel_h, kernel_w), (stride_h, stride_w), (dilation_h, dilation_w) = (
            self.kernel(),
            self.strides(),
            self.dilations(),
        )
        return span(h, kernel_h, stride_h, dilation_h, vertical), span(w, kernel_w, stride_w, dilation_w, horizontal)

    def output_spans(self) -> tuple[Span, Span]:
        """The window of the convolution that leads from a TRANSPOSE_CONV's output to its input."""
        (kernel_h, kernel_w), (stride_h, stride_w), (_, h, w, _) = self.kernel(), self.strides(), self.output.shape
        padding = self.op.options["padding"]
        return span(h, kernel_h, stride_h, 1, padding), span(w, kernel_w, stride_w, 1, padding)

    def resize_scales(self) -> tuple[int, int]:
        """Input rows and columns per output row and column of RESIZE_BILINEAR, in 1/1024."""
        scales = []
        for size, output in zip(self.input().shape[1:3], self.output.shape[1:3], strict=True):
            less = int(bool(self.op.options["alignCorners"]) and output > 1)
            scales.append((ONE_PIXEL * (size - less) + (output - less) // 2) // (output - less))
        return scales[0], scales[1]

    def reduced(self) -> tuple[bool, ...]:
        """Whether each dimension of a reduction's input is reduced; those of size 1 are as they suit."""
        axes = self.axes()
        return tuple(a in axes and d > 1 for a, d in enumerate(self.input().shape))

    def is_image(self) -> bool:
        """Whether the input is height, width and channels, at the most."""
        return math.prod(self.input().shape[:-3]) == 1

    def run(self) -> tuple[int, int, int] | None:
        """Elements before, along and behind the dimensions that are reduced; None when they are not side by side."""
        shape, reduced = self.input().shape, self.reduced()
        where = [a for a, gone in enumerate(reduced) if gone]
        first, end = (where[0], where[-1] + 1) if where else (0, 0)
        if any(d > 1 and not gone for d, gone in zip(shape[first:end], reduced[first:end], strict=True)):
            return None
        return math.prod(shape[:first]), math.prod(shape[first:end]), math.prod(shape[end:])

    def axes(self) -> frozenset[int]:
        """The axes that a reduction reduces, counted from the front."""
        own, rank = self.op.options.get(AXES), len(self.input().shape)
        operand = self.tensor(1)
        stated = operand.data.flatten().tolist() if operand is not None and operand.data is not None else ()
        return frozenset(int(a) + rank if a < 0 else int(a) for a in (stated if own is None else own))
