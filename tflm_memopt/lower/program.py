"""What a program says: the tensors, operators and blocks of a region, as the C executor knows them (program.h).

lower/serialise.py makes bytes of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.lower.pack import Packed
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import Family
from tflm_memopt.ops.rowop import UNIT, Access, Crossing, Moves, Window
from tflm_memopt.plan.loops import Loops

INPUT_ARENA, INPUT_STREAM, INPUT_EXTERNAL, INPUT_LINK = 0, 1, 2, 3
"""Where input 0 is; INPUT_LINK: in the arena, and other tensors come from other devices."""

LAYOUT_HWC = 0
LAYOUT_ROWS_TURNED = 1
LAYOUT_PIXELS_TURNED = 2
LAYOUT_STATE = 16
"""And more: the number of a ring of the state, which has rows of the tensor."""

PROGRAM_BASE = 255
"""Base of a constant operand: the program itself."""
LINK_BASE = 254
"""Base of a tensor whose rows go to another device, or come from one."""


@dataclass(frozen=True, slots=True)
class PixelRing:
    """Consecutive rows of each strip, in a ring of pixels."""

    offset: int
    """Bytes from the start of the tensor's base."""
    depth: int
    """Pixels."""
    rows: int


@dataclass(frozen=True, slots=True)
class WalkRecord:
    """The strips in which a tiled block makes a tensor: rows below m * advance + end, clamped, exist after strip m."""

    advance: int
    end: int
    rows: int
    """Rows of a strip. As many as `advance`: each is made once (cache); more: the rest is made again (recompute)."""


@dataclass(frozen=True, slots=True)
class ProgramTensor:
    """One view of a tensor: row y lives at base + offset + (y % depth) * width * channels, or in lanes (program.h)."""

    offset: int
    """Bytes from the start of its base."""
    height: int
    width: int
    channels: int
    depth: int
    """Rows of the ring; `height`: resident. In lanes: how far above row 0 their periods begin."""
    base: int = 0
    """0: workspace; 1..n_inputs: inputs; then the outputs; then the state."""
    lanes: tuple[PixelRing, ...] = ()
    """They hold the rows of a strip, the first lane its first rows; then `offset` means nothing."""
    walk: WalkRecord | None = None
    """The strips of a tiled block's outputs, and of its iterative operators' inputs; None elsewhere."""
    pushed: int = 0
    """Rows of a streamed input that come at once; its `depth` older ones are at `offset` in the workspace."""
    older: int = 0
    """Rows before row 0, which a ring of the state has."""
    constant: bytes = b""
    """All bytes of a tensor whose base is PROGRAM_BASE; `offset` leads to them when they are packed."""
    layout: int = LAYOUT_HWC


@dataclass(frozen=True, slots=True)
class ProgramOp:
    """One operator. Arrays are None where the kind has none; see program.h for what each means."""

    kind: Kind
    inputs: tuple[int, ...]
    """Numbers of tensors."""
    output: int
    input_zero_points: tuple[int, ...]
    output_zero_point: int
    window: Window = UNIT
    activation: tuple[int, int] = (-128, 127)
    swapped: bool = False
    """Whether the second of two operands comes first in the formula."""
    iterative: bool = False
    sums: bool = False
    """It adds up channel groups, and writes its output in one more pass."""
    param: int = 0
    weights: NDArray[np.int8] | None = field(default=None, compare=False)
    bias: NDArray[np.int32] | None = field(default=None, compare=False)
    multipliers: NDArray[np.int32] | None = field(default=None, compare=False)
    """One, or one per output channel; ADD and the like: in the order of `inputs`, then the output's."""
    shifts: NDArray[np.int8] | None = field(default=None, compare=False)
    packed: Packed | None = field(default=None, compare=False)
    """Instead of weights, bias, multipliers and shifts."""
    accumulator: int = 0
    """Bytes from the workspace's start, when iterative, when it adds up channel groups, or when it is packed."""
    tile: int = 0
    """Columns of a firing, in a tiled block."""
    groups: int = 0
    """Channel groups, in a tiled block; 0 or 1: none."""
    group_channels: int = 0
    """Channels of each group; the last one may have fewer."""
    access: tuple[Access, ...] = ()
    """Rows that are read of each input, in the order of `inputs`, if not by the window."""
    crossing: Crossing | None = None
    """SEND, RECEIVE."""
    moves: Moves | None = None
    """COPY; operands are numbered in the order of `inputs`."""

    @property
    def device(self) -> int | None:
        """That runs it, where something crosses."""
        if self.crossing is None:
            return None
        return self.crossing.sender if self.kind is Kind.SEND else self.crossing.receiver


@dataclass(frozen=True, slots=True)
class ProgramRing:
    """Rows that outlive a run (program.h)."""

    offset: int
    """Where its first slot is, bytes from the state's start."""
    row: int
    """Bytes of a slot."""
    depth: int
    """Slots."""
    advance: int
    """Rows that are kept in each run."""
    fill: int
    """uint8."""
    window: int = 0
    """1: no rows, but the runs that fill a window: it is full when there were `depth` of them."""


@dataclass(frozen=True, slots=True)
class ProgramBlock:
    """Operators [first_op, first_op + n_ops), whose iterations are interleaved."""

    first_op: int
    n_ops: int
    counters: int
    """Bytes from the workspace's start: uint16 per operator, in a tiled block four of them."""
    loops: Loops
    """The order of its iterations."""
    strips: int = 0
    """0: row block."""


@dataclass(frozen=True, slots=True)
class ProgramShare:
    """What two cores make of an operator's firings (program.h)."""

    how: int
    cut: int
    accumulator: int
    """As ProgramOp has it, for the second core."""


@dataclass(frozen=True, slots=True)
class ProgramCores:
    """How two cores share a run."""

    shares: tuple[ProgramShare, ...]
    """One for each operator."""
    meetings: tuple[int, ...]
    """Firings of the run before which the cores meet."""
    alone: tuple[int, ...]
    """Firings that the first core makes."""
    counters: int
    """Bytes from the first core's counters to the second's."""


@dataclass(frozen=True, slots=True)
class Program:
    """Everything that tmo_run() needs to know."""

    n_inputs: int
    n_outputs: int
    workspace: int
    """Bytes."""
    firings: int
    """Firings of one run, exactly."""
    tensors: tuple[ProgramTensor, ...]
    ops: tuple[ProgramOp, ...]
    blocks: tuple[ProgramBlock, ...]
    target: int = Family.GENERIC
    input: int = INPUT_ARENA
    state: int = 0
    """Bytes that outlive a run."""
    rings: tuple[ProgramRing, ...] = ()
    """Those that the state consists of."""
    cores: ProgramCores | None = None
    """None: it is for one core."""
