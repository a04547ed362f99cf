"""Counts how many bytes an inference moves from and to slow memory, and how many bytes of constants it reads.

An iteration of one channel group reads only the constants of this channel group. Weights that a program copies to the
arena are read once.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.lower.pack import pack, plain_weights
from tflm_memopt.ops.kinds import Constants
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.trace import Member
from tflm_memopt.plan.iteration.traffic import bytes_read, bytes_written
from tflm_memopt.plan.nest import Ints
from tflm_memopt.plan.plan import Role


@dataclass(frozen=True, slots=True)
class BytesMoved:
    """Number of bytes that custom operators move in an inference. TFLM's own kernels are not counted."""

    slow_read: int = 0
    slow_written: int = 0
    weights_read: int = 0
    """Number of bytes of weights, biases and scales that are read from the program, normally in flash."""


def traffic(planned: Planned) -> BytesMoved:
    slow = {tensor.tensor for tensor in planned.plan.slow}
    total = np.zeros(3, np.int64)
    for group in planned.groups.values():
        for member in group.trace.members:
            op, (_, iterations) = member.op, group.trace.iterations_of(member.key)
            read = sum(bytes_read(member, k, iterations) for k, tensor in enumerate(op.inputs) if tensor in slow)
            written = bytes_written(member, iterations) if op.output in slow else 0
            copied = planned.plan.find(Role.WEIGHTS, op.output)
            total += read, written, _weights_read(member, iterations, copied[0].nbytes if copied else 0)
    return BytesMoved(*total.tolist())


def _weights_read(member: Member, iterations: Ints, copied: int) -> int:
    op, nest = member.op, member.nest
    if op.traits.constants is Constants.ROWS:  # Each iteration reads only one row of the constants.
        return len(iterations) * op.writes.row_bytes
    arrays, groups = constants_of(op, packed=member.stage.runs_packed(op)), nest.channel_groups - nest.sums
    nbytes = sum(array.nbytes for array in arrays if array is not None) - copied
    if groups == 1:
        return copied + nbytes * len(iterations)
    split = op.reads[0].c if nest.sums else op.writes.c
    return copied + shares(nbytes, split, -(-split // groups), member.iterations.channel_group[iterations])


def shares(nbytes: int, split: int, each: int, channel_groups: Ints) -> int:
    """Return how many bytes of constants the iterations of the given channel groups read, for an operator with `nbytes`
    bytes of constants and `split` channels in groups of `each` channels. An iteration that only finishes sums reads no
    constants.
    """
    channels = np.clip(split - channel_groups * each, 0, each)
    return int((nbytes * channels // split).sum())


def constants_of(op: RowOp, *, packed: bool) -> tuple[NDArray[Any] | None, ...]:
    """Return the constants of an operator as its program stores them, weights first."""
    if packed:
        found = pack(op)
        return found.weights, found.scales
    return plain_weights(op), op.bias, op.multipliers, op.shifts
