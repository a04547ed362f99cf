"""Removes dead channels, which cannot influence any output, whatever the input is.

A channel that always holds its zero point adds nothing to a convolution's sums. A channel that always holds some value
other than its zero point adds a constant to all sums. The constant can become part of the bias if no window covers
padding. A channel that no operator reads is not computed. Only tensors inside a region lose channels, since TFLM sees
all other tensors.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.intervals import Bools, Range, inputs, meets_padding, ranges
from tflm_memopt.ops.rowop import Constant, RowOp
from tflm_memopt.rowgraph.graph import RowGraph

Scalar = TypeVar("Scalar", bound=np.generic)
ChannelMasks = Mapping[TensorId, Bools]
"""Maps each tensor to a mask of its remaining channels."""


def without_dead_channels(graph: RowGraph) -> RowGraph:
    """Return the graph without dead channels, where each tensor keeps at least one channel."""
    return replace(graph, ops=fold(graph)[0])


def fold(graph: RowGraph, whole: Collection[TensorId] = ()) -> tuple[Mapping[int, RowOp], ChannelMasks]:
    """Remove dead channels from the operators, and return the operators and a mask of each tensor's remaining channels.
    The tensors in `whole` keep all their channels.
    """
    order = [i for region in graph.regions for i in region.ops]
    ops = [graph.ops[i] for i in order]
    known = ranges(ops)
    links = [_Link(op, inputs(op, known)) for op in ops]
    masks = _masks(links, {t: c for t, c in _inner(graph, ops).items() if t not in whole})
    return {i: _cut(link, masks) for i, link in zip(order, links, strict=True)}, masks


@dataclass(frozen=True, slots=True)
class _Link:
    op: RowOp
    seen: tuple[Range, ...]

    def needs(self, written: Bools) -> Bools:
        if self.op.is_convolution:
            (x,) = self.seen
            weighed: Bools = np.any(self.op.own_weights[written], axis=(0, 1, 2))
            at_zero_point = np.equal(x.low, self.op.input_zero_points[0])
            return weighed & ~(x.constant & (at_zero_point | (not meets_padding(self.op))))
        if self.op.is_depthwise:
            used: Bools = np.any(written.reshape(self.op.reads[0].c, -1), axis=1)
            return used
        return written

    def ties(self, read: Bools) -> Bools:
        """Return a mask of the output channels that must stay if the input channels in the mask `read` stay."""
        if self.op.is_convolution:
            return np.zeros(self.op.writes.c, dtype=np.bool_)
        if self.op.is_depthwise:
            return np.repeat(read & (len(read) > 1), self.op.writes.c // len(read))
        return read


def _inner(graph: RowGraph, ops: Iterable[RowOp]) -> dict[TensorId, int]:
    channels = {op.output: op.writes.c for op in ops}
    whole = {t for node in graph.nodes for t in (*node.inputs, *node.outputs)}
    for op in ops:
        if not (op.is_convolution or op.is_depthwise or op.is_channelwise):
            whole |= {*op.inputs, op.output}
        if op.is_binary:  # An operand with a single channel is broadcast.
            whole |= {t for t, rows in zip(op.inputs, op.reads, strict=True) if rows.c != op.writes.c}
        whole |= {t for t, rows in zip(op.inputs, op.reads, strict=True) if rows.c != channels.get(t)}
    return {t: c for t, c in channels.items() if t not in whole}


def _masks(links: Sequence[_Link], inner: Mapping[TensorId, int]) -> ChannelMasks:
    masks = {t: np.zeros(c, dtype=np.bool_) for t, c in inner.items()}
    _spread(links, masks)
    for mask in masks.values():
        if not mask.any():
            mask[0] = True
            _spread(links, masks)
    return masks


def _spread(links: Sequence[_Link], masks: ChannelMasks) -> None:
    """Add to `masks` every channel that influences a channel in `masks`."""
    before = -1
    while before != (before := sum(int(mask.sum()) for mask in masks.values())):
        for link in reversed(links):
            op = link.op
            needed = link.needs(_mask(masks, op.output, op.writes.c))
            for t, rows in zip(op.inputs, op.reads, strict=True):
                if t in masks:
                    masks[t][needed] = True
                if op.output in masks and not (op.is_binary and rows.c != op.writes.c):
                    masks[op.output][link.ties(_mask(masks, t, rows.c))] = True


def _mask(masks: ChannelMasks, tensor: TensorId, channels: int) -> Bools:
    return masks[tensor] if tensor in masks else np.ones(channels, dtype=np.bool_)


def _cut(link: _Link, masks: ChannelMasks) -> RowOp:
    op = link.op
    read = [_mask(masks, t, rows.c) for t, rows in zip(op.inputs, op.reads, strict=True)]
    written = _mask(masks, op.output, op.writes.c)
    if all(mask.all() for mask in (*read, written)):
        return op
    return narrowed(op, read, written, _bias(link, ~read[0]) if op.is_convolution else op.bias)


def narrowed(op: RowOp, read: Sequence[Bools], written: Bools, bias: NDArray[np.int32] | None) -> RowOp:
    cut = replace(
        op,
        constant=_without(op.constant, written),
        reads=tuple(replace(rows, c=int(mask.sum())) for rows, mask in zip(op.reads, read, strict=True)),
        writes=replace(op.writes, c=int(written.sum())),
    )
    if op.weights is None or op.is_channelwise:
        return cut
    weights = op.weights[written][..., read[0]] if op.is_convolution else op.weights[..., written]
    return replace(
        cut,
        weights=weights,
        bias=None if bias is None else bias[written],
        multipliers=_per_channel(op.multipliers, written),
        shifts=_per_channel(op.shifts, written),
        macs=op.macs // op.weights.size * weights.size,
    )


def _without(constant: Constant | None, mask: Bools) -> Constant | None:
    if constant is None or constant.rows.c != len(mask):
        return constant
    rows, values = replace(constant.rows, c=int(mask.sum())), np.ascontiguousarray(constant.values[..., mask])
    return replace(constant, rows=rows, values=values)


def _bias(link: _Link, dropped: Bools) -> NDArray[np.int32] | None:
    """Return a convolution's bias plus the products of the dropped constant channels, modulo 2^32."""
    op, (x,) = link.op, link.seen
    values = (x.low - op.input_zero_points[0])[dropped]
    added = op.own_weights.sum(axis=(1, 2), dtype=np.int64)[:, dropped] @ values
    if not added.any():
        return op.bias
    return np.asarray(added if op.bias is None else added + op.bias).astype(np.int32)


def _per_channel(values: NDArray[Scalar] | None, mask: Bools) -> NDArray[Scalar] | None:
    return values if values is None or values.size == 1 else values[mask]
