"""Finds which bytes of the inputs and outputs are live while a kernel of TFLM runs."""

from collections.abc import Iterator, Mapping

import numpy as np

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.iteration.liveness import LiveRange
from tflm_memopt.plan.nest import Ints
from tflm_memopt.plan.plan import Buffer, Role
from tflm_memopt.rowgraph.graph import AccessOrder


def kernel_ranges(
    dying: Mapping[TensorId, AccessOrder], born: TensorId, scratch: int, sizes: Mapping[TensorId, int]
) -> Iterator[LiveRange]:
    """Whole inputs are live in the first step, so that TFLM's scratch cannot overlap an input."""
    steps = 0
    for tensor, order in dying.items():
        steps = int(order.written.max(initial=-1)) + 1
        bottom, top = _still_read(order.last_read, steps)
        bottom[0], top[0] = 0, sizes[tensor]
        yield LiveRange(Buffer(Role.TENSOR, tensor, sizes[tensor]), bottom, top, top)
    for order in [*dying.values()][:1]:
        bottom, top = _written(order.written, steps)
        yield LiveRange(Buffer(Role.TENSOR, born, sizes[born]), bottom, top, top)
    if scratch:
        full = np.full(steps + 1, scratch)
        yield LiveRange(Buffer(Role.SCRATCH, -1, scratch), np.zeros_like(full), full, full)


def _still_read(last: Ints, steps: int) -> tuple[Ints, Ints]:
    at = np.arange(len(last))
    lowest, highest = np.full(steps + 1, len(last)), np.zeros(steps + 1, np.int64)
    np.minimum.at(lowest, last, np.where(last < 0, len(last), at))
    np.maximum.at(highest, last, np.where(last < 0, 0, at + 1))
    bottom = np.minimum.accumulate(lowest[::-1])[::-1]
    top = np.maximum.accumulate(highest[::-1])[::-1]
    return bottom, top


def _written(first: Ints, steps: int) -> tuple[Ints, Ints]:
    at = np.arange(len(first))
    lowest, highest = np.full(steps + 1, len(first)), np.zeros(steps + 1, np.int64)
    np.minimum.at(lowest, first + 1, at)
    np.maximum.at(highest, first + 1, at + 1)
    return np.minimum.accumulate(lowest), np.maximum.accumulate(highest)
