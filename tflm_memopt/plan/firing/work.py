"""What the operators of a plan do, counted from its firings: with what is computed again, without what is clipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tflm_memopt.analysis.costs import Work
from tflm_memopt.ops.kinds import Channels
from tflm_memopt.ops.packing import Packing, is_direct, packed_pixels, packed_values
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.firing.occupancy import trace_of
from tflm_memopt.plan.firing.trace import Member, Trace
from tflm_memopt.plan.plan import Block, Plan
from tflm_memopt.plan.walk import Ints

_CONVOLUTIONS = (Packing.DSP_CONV, Packing.MVE_CONV)
_PADDED = (*_CONVOLUTIONS, Packing.DSP_DEPTHWISE, Packing.MVE_DEPTHWISE)
"""Their kernels go through all taps of a window; the others leave out those in the padding."""


def work(plan: Plan, ops: Mapping[int, RowOp]) -> Iterator[Work]:
    """Of each operator in the plan's blocks, in order; builtin operators run outside and are not counted.

    ops: the plan's row operators by key (Partition.ops).
    """
    for step in plan.steps:
        if isinstance(step, Block):
            trace = trace_of(step, ops)
            yield from (_of(trace, member) for member in trace.members)


def _of(trace: Trace, m: Member) -> Work:
    _, fired = trace.fires(m.key)
    if m.op.access:
        return _by_access(m, fired)
    return _summed(m, fired) if m.iterative else _windowed(m, fired)


def _name(m: Member, *, summed: bool = False, direct: bool = False) -> str:
    kernel = m.op.packing.name if m.stage.runs_packed(m.op) else m.op.kind.name
    way = "tiles" if m.strips else "rows"
    return f"{kernel} {'summed ' if summed else ''}{'direct ' if direct else ''}{way}"


def _by_access(m: Member, fired: Ints) -> Work:
    """Whole rows, of which the operator says itself what it reads."""
    op, row = m.op, m.units.row[fired]
    read = 0
    for k, rows in enumerate(op.reads):
        first, end = op.rows(k, row)
        read += int(np.maximum(end - first, 0).sum()) * rows.row_bytes
    n = len(fired)
    macs = op.macs * n / op.writes.h
    pixels = n * op.writes.w
    return Work(_name(m), macs, macs, read, pixels * op.writes.c, pixels, n * op.rows_at_once, n)


def _windowed(m: Member, fired: Ints) -> Work:
    op, w, groups = m.op, m.op.window, m.walk.groups - m.walk.sums
    packed = m.op.packing if m.stage.runs_packed(m.op) else Packing.NONE
    u = m.units
    row, x0, x1 = u.row[fired], u.x0[fired], u.x1[fired]
    pixels = int((x1 - x0).sum())
    if packed in _PADDED:
        taps = pixels * w.kernel_h * w.kernel_w
    else:
        high = _clipped(row, w.stride_h, w.pad_top, w.kernel_h, w.dilation_h, op.reads[0].h)
        if m.walk.sums:
            high = np.where(u.group[fired] == groups, 0, high)  # the pass that only writes
        wide = _clipped(np.arange(op.writes.w), w.stride_w, w.pad_left, w.kernel_w, w.dilation_w, op.reads[0].w)
        below = np.concatenate(([0], np.cumsum(wide)))
        taps = int((high * (below[x1] - below[x0])).sum())
    # of each group a share of the channels
    whole = m.walk.splits and op.traits.channels is Channels.SUMMED
    read = taps * op.reads[0].c * len(op.inputs) / (1 if whole else groups)
    written = pixels * op.writes.c / (groups if m.walk.splits else 1)
    made = op.writes.h * op.writes.w * w.kernel_h * w.kernel_w
    macs = weights = op.macs / made * taps / groups
    direct = False
    if packed in _CONVOLUTIONS:
        kernel = (w.kernel_h, w.kernel_w)
        values = packed_values(packed, kernel, op.reads[0].c)
        direct = is_direct(packed, kernel, op.reads[0].c, op.writes.c, m.walk.tile or op.writes.w)
        macs = pixels * values * op.writes.c
        weights = _batches(x1 - x0, packed, values) * values * op.writes.c
    return Work(_name(m, summed=m.walk.sums, direct=direct), macs, weights, read, written, pixels, taps, len(fired))


def _summed(m: Member, fired: Ints) -> Work:
    """An input row, or a tile of one, at a time, added to the sums of the pixels over it."""
    op, u = m.op, m.units
    pixels = int((u.x1 - u.x0)[fired].sum())
    share = pixels / (op.reads[0].h * op.reads[0].w)
    taps = share * op.writes.h * op.writes.w * op.window.kernel_h * op.window.kernel_w
    passes = taps if m.strips else len(fired) * op.writes.w
    macs = op.macs * share
    return Work(_name(m, summed=True), macs, macs, taps * op.reads[0].c, passes * op.writes.c, pixels, taps, len(fired))


def _clipped(at: Ints, stride: int, pad: int, kernel: int, dilation: int, size: int) -> Ints:
    """Taps of a window that lie inside the input, along one axis."""
    first = at * stride - pad
    skipped = np.maximum(0, (dilation - 1 - first) // dilation)
    end = np.minimum(kernel, (dilation - 1 + size - first) // dilation)
    inside: Ints = np.maximum(0, end - skipped)
    return inside


def _batches(columns: Ints, packed: Packing, values: int) -> int:
    """Times that the weights are gone through: pixels of a firing are computed a few at once."""
    widths, counts = np.unique(columns, return_counts=True)
    total = 0
    for width, count in zip(widths.tolist(), counts.tolist(), strict=True):
        left = width
        while left > 0:
            left -= packed_pixels(packed, values, left)
            total += count
    return total
