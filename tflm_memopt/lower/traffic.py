"""Bytes per inference that a plan reads and writes in slow memory, and bytes of constants that it reads.

plan/iteration/traffic.py defines what an iteration reads and writes. In addition, it reads the weights, biases and
scales of its operator once, or those of its channel group. tests/counted_traffic.py counts the same bytes while a
program runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tflm_memopt.lower.pack import in_nibbles, pack
from tflm_memopt.ops.kinds import Constants
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.trace import Member
from tflm_memopt.plan.iteration.traffic import bytes_read, bytes_written
from tflm_memopt.plan.nest import Ints


@dataclass(frozen=True, slots=True)
class BytesMoved:
    """Bytes per inference, of groups only."""

    slow_read: int = 0
    slow_written: int = 0
    weights_read: int = 0

    def __add__(self, other: BytesMoved) -> BytesMoved:
        return BytesMoved(
            self.slow_read + other.slow_read,
            self.slow_written + other.slow_written,
            self.weights_read + other.weights_read,
        )


def traffic(planned: Planned) -> BytesMoved:
    """Return the predicted traffic of a plan."""
    slow = {tensor.tensor for tensor in planned.plan.slow}
    total = BytesMoved()
    for group in planned.groups.values():
        for member in group.trace.members:
            op, (_, fired) = member.op, group.trace.iterations_of(member.key)
            read = sum(bytes_read(member, k, fired) for k, tensor in enumerate(op.inputs) if tensor in slow)
            written = bytes_written(member, fired) if op.output in slow else 0
            total += BytesMoved(read, written, _weights_read(member, fired))
    return total


def _weights_read(member: Member, fired: Ints) -> int:
    op, nest = member.op, member.nest
    if op.traits.constants is Constants.ROWS:  # each iteration reads one row of a table
        return len(fired) * op.writes.row_bytes
    nbytes, groups = _constant_bytes(op, packed=member.stage.runs_packed(op)), nest.channel_groups - nest.sums
    if groups == 1:
        return nbytes * len(fired)
    split = op.reads[0].c if nest.sums else op.writes.c
    return shares(nbytes, split, -(-split // groups), member.units.channel_group[fired])


def shares(nbytes: int, split: int, each: int, channel_groups: Ints) -> int:
    """Return the bytes of constants, of `nbytes` in all, that iterations of these channel groups read.

    split: channels. each: channels of a group; the last group may have fewer, a pass after it reads none.
    """
    channels = np.clip(split - channel_groups * each, 0, each)
    return int((nbytes * channels // split).sum())


def _constant_bytes(op: RowOp, *, packed: bool) -> int:
    if packed:
        found = pack(op)
        return sum(array.nbytes for array in (found.weights, found.scales) if array is not None)
    weights = in_nibbles(op.weights) if op.nibbles and op.weights is not None else op.weights
    arrays = (weights, op.bias, op.multipliers, op.shifts)
    return sum(array.nbytes for array in arrays if array is not None)
