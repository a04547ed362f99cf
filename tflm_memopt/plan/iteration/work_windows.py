"""Describes the windows that an operator reads, to count the operator's work."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from tflm_memopt.analysis.costs import Work
from tflm_memopt.ops import kernel_choice
from tflm_memopt.ops.packing import QUAD, Packing
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.nest import Ints

FULL_RANGE = -128, 127


@dataclass(frozen=True, slots=True)
class Windows:
    op: RowOp
    rows: bool
    columns: int
    in_channels: int
    out_channels: int
    x0: Ints
    x1: Ints
    """Output columns [x0, x1) of each iteration."""
    high: Ints
    """For each iteration, the number of window rows inside the input."""
    wide: Ints
    """For each output column, the number of window columns inside the input."""
    in_one_piece: bool
    """Whether the pixels of an input row are contiguous."""
    out_in_one_piece: bool
    """Whether the pixels of an output row are contiguous."""
    whole: bool
    """Whether each iteration computes complete pixels."""
    complete: bool
    """Whether each iteration writes outputs instead of adding to int32 sums."""
    in_arena: bool
    calls: int
    """Number of kernel calls that compute several iterations at once, or 0 if each call computes one iteration."""
    room: int
    """Size of a packed convolution's scratch, encoded like the argument `room` of packed_pixels()."""
    backwards: bool
    """Whether the kernel reads an input tensor from its last pixel to its first."""
    along: bool
    """Whether each iteration computes one pixel, but tmo_iterate_along_row() computes most pixels of a row at once."""

    @property
    def reads_rows(self) -> bool:
        return self.rows or (self.in_one_piece and self.makes_single_pixels(Packing.NONE))

    def makes_single_pixels(self, packed: Packing) -> bool:
        """Whether tmo_iterate_pixel() runs the iterations."""
        op, tile = self.op, 0 if self.rows else self.columns
        if not self.in_arena or (self.backwards and packed is not Packing.NONE):
            return False
        pointwise = op.window.kernel_w == 1 and (op.window.kernel_h == 1 or self.in_channels >= QUAD)
        if packed is Packing.DSP_CONV and self.rows and not pointwise:
            return False
        return kernel_choice.makes_single_pixels(op.kind, packed, tile, op.writes.w, whole=self.whole)

    @property
    def makes_fours(self) -> bool:
        """Whether a core with the DSP extension computes four channels at once with plain weights."""
        return kernel_choice.makes_fours(self.out_channels, complete=self.complete, biased=self.op.bias is not None)

    @property
    def pixels(self) -> int:
        return int((self.x1 - self.x0).sum())

    @property
    def taps(self) -> int:
        return self.over(self.wide)

    @property
    def row_windows(self) -> int:
        return int((self.high * (self.x1 - self.x0)).sum())

    @property
    def unclipped(self) -> int:
        return int(self._at_height(self.wide == self.op.window.kernel_w).sum())

    def over(self, each: Ints) -> int:
        return int((self.high * _between(each, self.x0, self.x1)).sum())

    def _at_height(self, columns: Ints) -> Ints:
        full: Ints = (self.high == self.op.window.kernel_h) * _between(columns, self.x0, self.x1)
        return full

    def gathered_alone(self, at_once: Ints) -> int:
        """The array `at_once` has a 1 for each column whose complete window is copied together with other windows."""
        return self.pixels - int(self._at_height(at_once).sum())


Kernel = Callable[[Windows, Work], Work]


def named(done: Work, *words: str) -> Work:
    *name, way = done.kernel.split()
    return replace(done, kernel=" ".join((*name, *words, way)))


def stripes(channels: int) -> int:
    """Return the number of passes over the channels. A pass computes 32 channels, whose sums fit eight vector registers
    of 128 bits.
    """
    return -(-channels // 32)


def iterations(w: Windows) -> Iterator[tuple[tuple[int, int, int], int]]:
    found, counts = np.unique(np.stack((w.x0, w.x1, w.high), axis=1), axis=0, return_counts=True)
    yield from zip(map(tuple, found.tolist()), counts.tolist(), strict=True)


def _between(each: Ints, x0: Ints, x1: Ints) -> Ints:
    below = np.concatenate(([0], np.cumsum(each)))
    found: Ints = below[x1] - below[x0]
    return found
