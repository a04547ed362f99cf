"""Splits a model by partial sums, but runs all partial sums on a single device."""

from collections.abc import Mapping, Sequence
from typing import Any

from tflm_memopt.devices.models import device_models
from tflm_memopt.devices.sharding import DeviceGraphs, DeviceSharding, _Sharder, possible_shardings
from tflm_memopt.model.graph import Graph, Op, TensorId
from tflm_memopt.model.reader import read
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.opset import row_op
from tflm_memopt.ops.rowop import RowOp


class _Alone(_Sharder):
    """Splits layers as if for several devices, but keeps everything on device 0."""

    def add(
        self, kind: str, inputs: Sequence[TensorId], output: TensorId, options: Mapping[str, Any], of: Op | None = None
    ) -> TensorId:
        self.device = 0
        return super().add(kind, inputs, output, options, of)

    def _send(self, tensor: TensorId, sender: int, receiver: int) -> TensorId:
        return tensor


def fan_in(graph: Graph) -> dict[int, DeviceSharding]:
    """Return for each layer how it is divided: by partial sums, by channels, or not at all."""
    order = (DeviceSharding.INPUTS, DeviceSharding.CHANNELS, DeviceSharding.WHOLE)
    return {op.index: next(one for one in order if one in possible_shardings(graph, op)) for op in graph.ops}


def in_parts(data: bytes, parts: int) -> bytes:
    source = read(data)
    shardings = fan_in(source.graph)
    for op in source.graph.ops:
        if not isinstance(row_op(OperatorContext(source.graph, op)), RowOp):
            shardings[op.index] = DeviceSharding.WHOLE
    sharded = _Alone(source.graph, shardings, parts, 0, (), {}).sharded()
    (one,) = device_models(source, DeviceGraphs(sharded.graphs[:1], (), sharded.outputs, 0))
    return one
