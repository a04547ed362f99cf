"""The row operator: the one form in which planner and executor know an operator.

Firing y of an operator produces output row y and reads, of each input, the rows [y*stride - pad, y*stride - pad +
extent), clipped to the tensor. Numbers (weights, multipliers) are carried along for lowering; the planner looks at the
geometry only.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import TensorId


class Kind(enum.IntEnum):
    """What the executor runs. Values are TMO_OP_* of custom_ops/include/tmo/program.h."""

    CONV = 1
    DEPTHWISE = 2
    ADD = 3
    AVERAGE_POOL = 4
    MAX_POOL = 5
    MEAN = 6
    SOFTMAX = 7
    REQUANT = 8
    """clamp(rescale(x - zero_in) + zero_out): QUANTIZE int8 -> int8, RELU, RELU6."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A tensor seen as `h` rows of `w` pixels of `c` channels, one byte each."""

    h: int
    w: int
    c: int

    @property
    def row_bytes(self) -> int:
        return self.w * self.c

    @property
    def nbytes(self) -> int:
        return self.h * self.w * self.c


@dataclass(frozen=True, slots=True)
class Window:
    """Kernel geometry. Padding is at the top and left; what is missing at the bottom and right follows."""

    kernel_h: int = 1
    kernel_w: int = 1
    stride_h: int = 1
    stride_w: int = 1
    dilation_h: int = 1
    dilation_w: int = 1
    pad_top: int = 0
    pad_left: int = 0

    @property
    def extent_h(self) -> int:
        """Input rows between the first and the last that a firing reads, both included."""
        return (self.kernel_h - 1) * self.dilation_h + 1


UNIT = Window()


@dataclass(frozen=True, slots=True)
class RowOp:
    """One operator, ready to plan and to lower.

    `inputs` are the activations that are read row by row; `reads[k]` is how this operator sees input k, which may
    differ from how its producer sees it (then the tensor must be resident). int8 throughout.
    """

    kind: Kind
    name: str
    """The model's operator type, for people: CONV_2D, FULLY_CONNECTED, RELU6."""
    sources: tuple[int, ...]
    """Indices of the model's operators that this one stands for."""
    inputs: tuple[TensorId, ...]
    output: TensorId
    reads: tuple[Rows, ...]
    writes: Rows
    input_zero_points: tuple[int, ...]
    output_zero_point: int
    window: Window = UNIT
    activation: tuple[int, int] = (-128, 127)
    weights: NDArray[np.int8] | None = field(default=None, compare=False)
    """CONV: [out][kernel_h][kernel_w][in]. DEPTHWISE: [kernel_h][kernel_w][out]."""
    bias: NDArray[np.int32] | None = field(default=None, compare=False)
    multipliers: NDArray[np.int32] | None = field(default=None, compare=False)
    """Q31 multipliers: one, or one per output channel; ADD: those of input 0, input 1, output."""
    shifts: NDArray[np.int8] | None = field(default=None, compare=False)
    """Powers of two that go with `multipliers`; positive is left."""
    param: int = 0
    """ADD: the left shift (20). SOFTMAX: diff_min."""
    macs: int = 0
    """Multiply-accumulates of the whole operator, padding included, as the original model does them."""

    @property
    def reducible(self) -> bool:
        """One output row from all input rows: can run a row at a time on int32 accumulators (msf-CNN, section 7)."""
        w = self.window
        whole = self.writes.h == 1 and w.kernel_h == self.reads[0].h and w.pad_top == 0 and w.dilation_h == 1
        if self.kind in (Kind.AVERAGE_POOL, Kind.MAX_POOL, Kind.MEAN):
            return whole and w.pad_left == 0
        return (
            self.kind is Kind.CONV
            and whole
            and w.pad_left == 0
            and self.writes.w == 1
            and w.kernel_w == self.reads[0].w
        )

    @property
    def accumulator_bytes(self) -> int:
        """int32 per output, when run one input row at a time."""
        return 4 * self.writes.row_bytes

    @property
    def in_place(self) -> bool:
        """Output row y may overwrite input row y: element-wise, each byte read before it is written."""
        return self.kind in (Kind.ADD, Kind.REQUANT) and all(r.row_bytes == self.writes.row_bytes for r in self.reads)

    def rows_read(self, k: int, y: int) -> tuple[int, int]:
        """Half-open range of rows of input k that firing y reads."""
        w = self.window
        first = y * w.stride_h - w.pad_top
        return max(0, first), min(self.reads[k].h, first + w.extent_h)
