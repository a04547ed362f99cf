"""Changes weights of a model so that some channels never, or almost never, influence an output."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from models import NAMES
from numpy.typing import NDArray

from tflm_memopt.model import writer
from tflm_memopt.model.reader import read

INT32 = np.iinfo(np.int32)
WEIGHTED = {
    schema.BuiltinOperator.CONV_2D: 0,
    schema.BuiltinOperator.DEPTHWISE_CONV_2D: 3,
    schema.BuiltinOperator.FULLY_CONNECTED: 0,
}


@dataclass
class Channel:
    filter: NDArray[np.int8]
    bias: NDArray[Any] | None
    scales: Sequence[NDArray[np.float32]]

    def set_bias(self, value: int) -> None:
        if self.bias is not None:
            self.bias[...] = value

    def scale_by(self, factor: float) -> None:
        for scale in self.scales:
            scale[...] *= np.float32(factor)

    def silence(self) -> None:
        self.filter[...] = 0


def _silent_at_zero(c: Channel) -> None:
    c.silence()
    c.set_bias(0)


SPOIL: Sequence[Callable[[Channel], None]] = (
    lambda _: None,
    lambda c: c.set_bias(-(1 << 22)),  # Far below.
    lambda c: c.set_bias(1 << 22),  # Far above.
    lambda c: c.set_bias(-(1 << 15)),  # Possibly below.
    lambda c: c.set_bias(INT32.min),  # Sums wrap.
    lambda c: c.set_bias(INT32.max),
    lambda c: c.set_bias(INT32.max - 70_000),
    Channel.silence,
    _silent_at_zero,
    lambda c: c.scale_by(2.0**-40),
    lambda c: c.scale_by(2.0**-21),
    lambda c: c.scale_by(2.0**18),
)


def plant(data: bytes, seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    tree = writer.edit(read(data))
    graph = tree.subgraphs[0]
    for op in graph.operators:
        axis = WEIGHTED.get(tree.operatorCodes[op.opcodeIndex].builtinCode)
        if axis is not None:
            operands = [graph.tensors[t] for t in op.inputs[1:] if t >= 0]
            if NAMES[operands[0].type] == "INT8":
                _spoil(rng, axis, [(t, _values(tree, t)) for t in operands])
    return writer.write(tree)


def _spoil(rng: np.random.Generator, axis: int, operands: Sequence[tuple[Any, NDArray[Any]]]) -> None:
    values = np.moveaxis(operands[0][1], axis, 0)
    ways = rng.choice(len(SPOIL), rng.integers(1, 5))
    shared: set[int] = set()
    for c in range(len(values)):
        scales = []
        for tensor, _ in operands:
            scale = tensor.quantization.scale
            if len(scale) > 1 or id(scale) not in shared:
                scales.append(scale[c : c + 1] if len(scale) > 1 else scale)
                shared.add(id(scale))
        bias = operands[1][1][c : c + 1] if len(operands) > 1 else None
        SPOIL[rng.choice(ways)](Channel(values[c], bias, scales))
    if axis == 0:
        values[..., rng.random(values.shape[-1]) < rng.choice([0, 0.3, 0.8])] = 0


def _values(tree: Any, tensor: Any) -> NDArray[Any]:
    buffer = tree.buffers[tensor.buffer]
    values = np.frombuffer(buffer.data.tobytes(), NAMES[tensor.type].lower()).copy()
    buffer.data = values.view(np.uint8)
    tensor.quantization.scale = np.array(tensor.quantization.scale, np.float32)
    return values.reshape(tensor.shape)
