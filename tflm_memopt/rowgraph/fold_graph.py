"""Removes dead channels from a model's graph, before the graph is split among several devices.

Some channels are dead in the whole graph, but not in one device's part of the graph.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import ABSENT, Graph, Op, Quantization, Tensor, TensorId, renamed
from tflm_memopt.ops.context import POOLS
from tflm_memopt.ops.intervals import Bools
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rewrite.parts import Parts
from tflm_memopt.rewrite.tiling import ELEMENTWISE, POINTWISE, filter_axis
from tflm_memopt.rowgraph.fold import ChannelMasks, fold
from tflm_memopt.rowgraph.regions import partition
from tflm_memopt.rowgraph.supported import to_row_ops

WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
FOLDED = (*WEIGHTED, *POOLS, *POINTWISE, *ELEMENTWISE)
"""Types of operators whose inputs and outputs may lose channels."""


def without_dead_channels(graph: Graph) -> Graph:
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
    """Return a filter's values for some input channels. A dense layer may have several weights per channel, one for
    each pixel.
    """
    values = np.asarray(weights.data).reshape(*weights.shape[:-1], -1, len(read))[..., read]
    return np.ascontiguousarray(values.reshape(*weights.shape[:-1], -1))
