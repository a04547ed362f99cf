"""Divides the rows of an operator's output into stripes, one stripe for each device.

If devices exchange rows (FFMT), stripes do not overlap, and a device gets the rows around its stripe from neighbouring
devices. If devices exchange no rows (FTP), a device computes all rows that its later operators read.
"""

import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise, product

from tflm_memopt.model.graph import Graph, Op, TensorId
from tflm_memopt.rewrite.parts import Range
from tflm_memopt.rewrite.tiling import ELEMENTWISE, along

ROWS_AXIS = 1
Stripe = tuple[int, int, int]
"""A device's number, its first output row, and the row after its last output row."""


def activations(graph: Graph, op: Op) -> list[TensorId]:
    return [t for t in op.inputs if t >= 0 and not graph.tensors[t].constant]


def bounds(size: int, devices: int, portions: Sequence[Fraction] = ()) -> list[Range]:
    """Divide `size` elements among devices, and return the range of each device.

    The argument `portions` has a number for each range: the range's size, divided by the mean size. By default, all
    ranges are about equally large.

    >>> bounds(10, 4), bounds(10, 3, (Fraction(3, 5), Fraction(6, 5), Fraction(6, 5)))
    ([(0, 2), (2, 5), (5, 7), (7, 10)], [(0, 2), (2, 6), (6, 10)])
    """
    ends = accumulate(portions or [Fraction(1)] * devices)
    return [*pairwise([0, *(math.floor(size * end / devices) for end in ends)])]


def even_stripes(graph: Graph, op: Op, devices: int) -> list[Stripe]:
    """Return stripes of about equal height, one stripe for each device. Rows whose windows read only padding are added
    to a neighbouring stripe.
    """
    parts: list[Stripe] = []
    begin = 0
    for device, (first, end) in enumerate(bounds(_height(graph, op.outputs[0]), devices)):
        if first == end:
            continue
        low, high = rows_read(graph, op, first, end)
        if low < high:
            parts.append((device, begin, end))
        elif parts:
            parts[-1] = (*parts[-1][:2], end)
        else:
            continue
        begin = end
    return parts


def overlapping_stripes(graph: Graph, stack: Collection[int], devices: int) -> dict[int, list[Stripe]]:
    """Return the stripes of consecutive operators that exchange no rows. The result and the argument `stack` name an
    operator by its Op.index.

    Each device computes an equal part of the last outputs, and all earlier rows that its part needs.
    """
    found: dict[int, list[Stripe]] = {}
    wanted: dict[TensorId, dict[int, Range]] = {}
    for op in reversed([op for op in graph.ops if op.index in stack]):
        output = op.outputs[0]
        rows = wanted.setdefault(output, {})
        if output in graph.outputs or any(reader.index not in stack for reader in graph.consumers(output)):
            for device, first, end in even_stripes(graph, op, devices):
                _widen(rows, device, (first, end))
        found[op.index] = [(device, *_reaching(graph, op, *rows[device])) for device in sorted(rows)]
        for t, (device, first, end) in product(activations(graph, op), found[op.index]):
            _widen(wanted.setdefault(t, {}), device, rows_read(graph, op, first, end))
    return found


def rows_read(graph: Graph, op: Op, first: int, end: int) -> Range:
    if op.type in ELEMENTWISE:
        return first, end
    low, high = along(graph, op)[0].reads(first, end)
    return max(0, low), min(_height(graph, op.inputs[0]), high)


def _reaching(graph: Graph, op: Op, first: int, end: int) -> Range:
    """Extend a range of output rows until the operator reads at least one input row for the range."""
    while (rows := rows_read(graph, op, first, end))[0] >= rows[1]:
        first, end = max(0, first - 1), min(_height(graph, op.outputs[0]), end + 1)
    return first, end


def _widen(ranges: dict[int, Range], device: int, other: Range) -> None:
    first, end = ranges.get(device, other)
    ranges[device] = min(first, other[0]), max(end, other[1])


def _height(graph: Graph, tensor: TensorId) -> int:
    return graph.tensors[tensor].shape[ROWS_AXIS]
