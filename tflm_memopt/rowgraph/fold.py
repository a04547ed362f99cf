"""Removes dead channels, which cannot influence any output, whatever the input is.

A channel that always holds its zero point adds nothing to a convolution's sums. A channel that always holds some other
value adds a constant to all sums. The constant can become part of the bias if no window covers padding. A channel that
no operator reads is not computed. Only tensors inside a region lose channels, since TFLM sees all other tensors.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import ABSENT, Graph, Op, Quantization, Tensor, TensorId, renamed
from tflm_memopt.ops.context import POOLS
from tflm_memopt.ops.intervals import Bools, Range, inputs, meets_padding, ranges
from tflm_memopt.ops.rowop import Constant, RowOp
from tflm_memopt.rewrite.parts import Parts
from tflm_memopt.rewrite.tiling import ELEMENTWISE, POINTWISE, filter_axis
from tflm_memopt.rowgraph.graph import RowGraph
from tflm_memopt.rowgraph.regions import partition
from tflm_memopt.rowgraph.supported import to_row_ops

Scalar = TypeVar("Scalar", bound=np.generic)
ChannelMasks = Mapping[TensorId, Bools]
"""Maps each tensor to a mask of its remaining channels."""
WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
FOLDED = (*WEIGHTED, *POOLS, *POINTWISE, *ELEMENTWISE)
"""Types of a model's operators whose inputs and outputs may lose channels."""


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
        """Return a mask of the output channels that stay if the input channels in the mask `read` stay."""
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


def narrowed_model(graph: Graph) -> Graph:
    """Return the model's graph without dead channels, before the graph is split among several devices. Some channels
    are dead in the whole graph, but not in one device's part of the graph.
    """
    whole = {t for op in graph.ops if not _folds(graph, op) for t in (*op.inputs, *op.outputs)}
    rows, masks = fold(partition(graph, to_row_ops(graph)), whole)
    return _Narrowing(graph, rows, {t: mask for t, mask in masks.items() if not mask.all()}).narrowed()


def _folds(graph: Graph, op: Op) -> bool:
    # With a single input channel, the depth multiplier is the number of output channels, and all channels stay.
    return op.type in FOLDED and (op.type != "DEPTHWISE_CONV_2D" or graph.tensors[op.inputs[0]].shape[-1] > 1)


@dataclass
class _Narrowing(Parts):
    rows: Mapping[int, RowOp]
    masks: ChannelMasks

    def narrowed(self) -> Graph:
        names = {t: self._narrow(t, mask) for t, mask in self.masks.items()}
        ops = [
            op if self.masks.keys().isdisjoint((*op.inputs, *op.outputs)) else self._cut(op) for op in self.graph.ops
        ]
        ops = [replace(op, inputs=renamed(op.inputs, names), outputs=renamed(op.outputs, names)) for op in ops]
        return replace(self.graph, tensors=self.tensors, ops=tuple(ops))

    def _narrow(self, tensor: TensorId, mask: Bools) -> TensorId:
        whole = self.tensors[tensor]
        return self.like(whole, (*whole.shape[:-1], int(mask.sum())))

    def _cut(self, op: Op) -> Op:
        read, written = self.masks.get(op.inputs[0]), self.masks.get(op.outputs[0])
        if op.type in WEIGHTED:
            return self._cut_weighted(op, read, written)
        inputs = (t if written is None else self._operand(t, written) for t in op.inputs)
        return replace(op, inputs=tuple(inputs))

    def _operand(self, t: TensorId, written: Bools) -> TensorId:
        shape = self.tensors[t].shape
        wide = self.tensors[t].constant and shape and shape[-1] == len(written)
        return self.channels_of(t, written, len(shape) - 1) if wide else t

    def _cut_weighted(self, op: Op, read: Bools | None, written: Bools | None) -> Op:
        row, axis = self.rows[op.index], filter_axis(self.tensors[op.inputs[1]], op)
        outputs = np.ones(self.tensors[op.outputs[0]].shape[-1], np.bool_) if written is None else written
        weights = self.channels_of(op.inputs[1], outputs, axis)
        if op.type != "DEPTHWISE_CONV_2D" and read is not None:
            self._set(weights, _inputs_of(self.tensors[weights], read))
        bias = self.channels_of(op.inputs[2], outputs, 0) if len(op.inputs) > 2 else ABSENT
        if row.bias is not None:
            if bias == ABSENT:
                bias = self.put(Tensor(0, "bias", row.bias.shape, "INT32", self._bias_scales(op.inputs[0], weights)))
            self._set(bias, row.bias)
        return replace(op, inputs=(op.inputs[0], weights, bias))

    def _set(self, tensor: TensorId, data: NDArray[Any]) -> None:
        self.tensors[tensor] = replace(self.tensors[tensor], shape=data.shape, data=data)

    def _bias_scales(self, x: TensorId, weights: TensorId) -> Quantization | None:
        a, b = self.tensors[x].quantization, self.tensors[weights].quantization
        return Quantization(tuple(a.scale[0] * scale for scale in b.scale), (0,) * len(b.scale)) if a and b else None


def _inputs_of(weights: Tensor, read: Bools) -> NDArray[Any]:
    """Return a filter's values for some input channels; a dense layer may have several weights per channel, one for
    each pixel.
    """
    values = np.asarray(weights.data).reshape(*weights.shape[:-1], -1, len(read))[..., read]
    return np.ascontiguousarray(values.reshape(*weights.shape[:-1], -1))
