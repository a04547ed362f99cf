"""Builds a graph in which several operators compute parts of one operator's output."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import Graph, Op, Quantization, Tensor, TensorId

Range = tuple[int, int]
MOST_JOINED = 10
"""Maximum number of inputs of CONCATENATION in TFLM (kMaxInputNum, concatenation.cc)."""
PART = "part"


def data_of(graph: Graph, tensor: TensorId) -> Any:
    data = graph.tensors[tensor].data
    if data is None:
        raise ValueError(f"tensor {tensor} is not a constant")
    return data


@dataclass
class Parts:
    graph: Graph
    tensors: dict[TensorId, Tensor] = field(init=False)
    new: list[Op] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.tensors = dict(self.graph.tensors)
        self.next = max((op.index for op in self.graph.ops), default=-1) + 1
        self._last = max(self.tensors, default=-1)

    def slice_of(self, x: TensorId, axis: int, first: int, end: int) -> TensorId:
        return self.cut_of(x, {axis: (first, end)})

    def cut_of(self, x: TensorId, ranges: Mapping[int, Range]) -> TensorId:
        whole = self.tensors[x]
        bounds = [ranges.get(axis, (0, size)) for axis, size in enumerate(whole.shape)]
        shape = tuple(end - first for first, end in bounds)
        if shape == whole.shape:
            return x
        operands = self.constant([first for first, _ in bounds]), self.constant(shape)
        return self.add("SLICE", [x, *operands], self.like(whole, shape), {})

    def padded(self, x: TensorId, down: tuple[int, int], across: tuple[int, int]) -> TensorId:
        _, h, w, c = (whole := self.tensors[x]).shape
        margins = self.constant([[0, 0], list(down), list(across), [0, 0]])
        return self.add("PAD", [x, margins], self.like(whole, (1, h + sum(down), w + sum(across), c)), {})

    def joined(self, pieces: Sequence[TensorId], axis: int, output: TensorId) -> TensorId:
        """Concatenate tensors, with several CONCATENATION operators if there are more than MOST_JOINED tensors."""
        while len(pieces) > MOST_JOINED:
            count = -(-len(pieces) // -(-len(pieces) // MOST_JOINED))
            pieces = [
                self.joined(some, axis, self._total(some, axis)) if len(some) > 1 else some[0]
                for some in (pieces[i : i + count] for i in range(0, len(pieces), count))
            ]
        return self.add("CONCATENATION", pieces, output, {"axis": axis, "fusedActivationFunction": "NONE"})

    def _total(self, pieces: Sequence[TensorId], axis: int) -> TensorId:
        whole = self.tensors[pieces[0]]
        size = sum(self.tensors[t].shape[axis] for t in pieces)
        return self.like(whole, (*whole.shape[:axis], size, *whole.shape[axis + 1 :]))

    def channels_of(self, tensor: TensorId, channels: slice | NDArray[np.bool_], axis: int) -> TensorId:
        """Return a filter or bias with only some of its output channels, and with int4 values as int8."""
        if tensor < 0:
            return tensor
        whole = self.tensors[tensor]
        data = data_of(self.graph, tensor)[(slice(None),) * axis + (channels,)]
        q = whole.quantization
        if q is not None and len(q.scale) > 1:
            scales, points = (np.resize(values, len(q.scale))[channels].tolist() for values in (q.scale, q.zero_point))
            q = Quantization(tuple(scales), tuple(points), q.axis)
        dtype = "INT8" if whole.dtype == "INT4" else whole.dtype
        return self.put(replace(whole, dtype=dtype, shape=data.shape, data=np.ascontiguousarray(data), quantization=q))

    def like(self, whole: Tensor, shape: tuple[int, ...]) -> TensorId:
        return self.put(replace(whole, shape=shape))

    def constant(self, values: Sequence[Any]) -> TensorId:
        data = np.asarray(values, np.int32)
        same = (
            t.id for t in self.tensors.values()
            if t.data is not None and t.dtype == "INT32" and t.quantization is None and np.array_equal(t.data, data)
        )  # fmt: skip
        found = next(same, None)
        return self.put(Tensor(0, "tile", data.shape, "INT32", data=data)) if found is None else found

    def put(self, tensor: Tensor) -> TensorId:
        self._last += 1
        self.tensors[self._last] = replace(tensor, id=self._last, name=f"{tensor.name}/{self._last}")
        return self._last

    def add(
        self, kind: str, inputs: Sequence[TensorId], output: TensorId, options: Mapping[str, Any], of: Op | None = None
    ) -> TensorId:
        marked = {**options, PART: True}
        self.new.append(Op(self.next, kind, tuple(inputs), (output,), marked, of.stands_for if of else ()))
        self.next += 1
        return output
