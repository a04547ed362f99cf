"""Builds small .tflite models in memory.

A method such as conv2d() adds an operator with random weights and returns the index of the output tensor. By default,
output scales are chosen so that outputs use the whole range of int8. The methods tensor() and op() can also build
invalid models.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import ArrayLike, NDArray

from tflm_memopt.model import writer

Affine = tuple[float, int]
"""Scale and zero point of a tensor."""
Pair = tuple[int, int]

DEFAULT: Affine = (0.05, -3)
NAMES = {value: name for name, value in vars(schema.TensorType).items() if isinstance(value, int)}


class Net:
    def __init__(self, seed: int = 0, *, activations: str = "INT8") -> None:
        """If `activations` is "INT16", inputs, convolutions and dense layers are int16."""
        self.activations = activations
        self.rng = np.random.default_rng(seed)
        self.graph = schema.SubGraphT(tensors=[], inputs=[], outputs=[], operators=[], name="main")
        self.tree = schema.ModelT(version=3, operatorCodes=[], subgraphs=[self.graph], buffers=[schema.BufferT()])
        self.tree.description = "built in memory"

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str = "INT8",
        affine: Affine | None = DEFAULT,
        *,
        data: ArrayLike | None = None,
        name: str | None = None,
        scales: Sequence[float] = (),
        axis: int = 0,
    ) -> int:
        """Add a tensor, which is a constant if `data` is given. The argument `scales` has a scale for each index along
        the dimension `axis`.
        """
        buffer = 0 if data is None else writer.add_buffer(self.tree, np.asarray(data, dtype.lower()))
        scale, zero_point = (scales, [0] * len(scales)) if len(scales) else affine or ((), ())
        name = name or f"t{len(self.graph.tensors)}"
        index = writer.add_tensor(self.tree, name, shape, dtype, buffer=buffer, scale=scale, zero_point=zero_point)
        if scales:
            self.graph.tensors[index].quantization.quantizedDimension = axis
        return index

    def op(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Any = None,
        *,
        custom_code: str | None = None,
        subgraph: int = 0,
    ) -> int:
        names = {name: value for name, value in vars(schema.BuiltinOptions).items() if isinstance(value, int)}
        self.tree.subgraphs[subgraph].operators.append(
            schema.OperatorT(
                opcodeIndex=writer.add_opcode(self.tree, kind, custom_code=custom_code),
                inputs=np.asarray(inputs, np.int32),
                outputs=np.asarray(outputs, np.int32),
                builtinOptionsType=0 if options is None else names[type(options).__name__.removesuffix("T")],
                builtinOptions=options,
            )
        )
        return outputs[0] if outputs else -1

    def input(self, shape: Sequence[int], affine: Affine | None = DEFAULT, *, dtype: str = "", name: str = "") -> int:
        dtype = dtype or self.activations
        if dtype == "INT16" and affine is not None:
            affine = affine[0], 0
        index = self.tensor(shape, dtype, affine, name=name or f"input{len(self.graph.inputs)}")
        self.graph.inputs.append(index)
        return index

    def model(self, *outputs: int) -> bytes:
        return writer.write(self.finished(*outputs))

    def finished(self, *outputs: int) -> Any:
        self.graph.outputs = list(outputs)
        return self.tree

    def shape(self, tensor: int) -> tuple[int, ...]:
        return tuple(int(d) for d in self.graph.tensors[tensor].shape)

    def dtype(self, tensor: int) -> str:
        return NAMES[self.graph.tensors[tensor].type]

    def affine(self, tensor: int) -> Affine:
        q = self.graph.tensors[tensor].quantization
        return (1.0, 0) if q is None or not len(q.scale) else (float(q.scale[0]), int(q.zeroPoint[0]))

    def conv2d(
        self,
        x: int,
        channels: int,
        *,
        kernel: Pair = (1, 1),
        stride: Pair = (1, 1),
        dilation: Pair = (1, 1),
        padding: str = "SAME",
        activation: str = "NONE",
        per_channel: bool = True,
        bias: bool = True,
        groups: int = 1,
        out: Affine | None = None,
    ) -> int:
        n, h, w, c = self.shape(x)
        filter_, product = self._filter(x, (channels, *kernel, c // groups), 0, per_channel)
        size = (
            out_size(h, kernel[0], stride[0], dilation[0], padding),
            out_size(w, kernel[1], stride[1], dilation[1], padding),
        )
        y = self._sum_output((n, *size, channels), product, math.prod(kernel) * c // groups, out)
        options = schema.Conv2DOptionsT(**_window(padding, stride, activation), **_dilation(dilation))
        return self.op("CONV_2D", [x, filter_, *self._bias(product, channels, bias)], [y], options)

    def depthwise_conv2d(
        self,
        x: int,
        *,
        multiplier: int = 1,
        kernel: Pair = (3, 3),
        stride: Pair = (1, 1),
        dilation: Pair = (1, 1),
        padding: str = "SAME",
        activation: str = "NONE",
        per_channel: bool = True,
        bias: bool = True,
        out: Affine | None = None,
    ) -> int:
        n, h, w, c = self.shape(x)
        channels = c * multiplier
        filter_, product = self._filter(x, (1, *kernel, channels), 3, per_channel)
        size = (
            out_size(h, kernel[0], stride[0], dilation[0], padding),
            out_size(w, kernel[1], stride[1], dilation[1], padding),
        )
        y = self._sum_output((n, *size, channels), product, math.prod(kernel), out)
        options = schema.DepthwiseConv2DOptionsT(
            **_window(padding, stride, activation), **_dilation(dilation), depthMultiplier=multiplier
        )
        return self.op("DEPTHWISE_CONV_2D", [x, filter_, *self._bias(product, channels, bias)], [y], options)

    def fully_connected(
        self,
        x: int,
        units: int,
        *,
        batches: int = 1,
        activation: str = "NONE",
        per_channel: bool = False,
        bias: bool = True,
        out: Affine | None = None,
    ) -> int:
        depth = math.prod(self.shape(x)) // batches
        filter_, product = self._filter(x, (units, depth), 0, per_channel)
        y = self._sum_output((batches, units), product, depth, out)
        options = schema.FullyConnectedOptionsT(fusedActivationFunction=_activation(activation))
        return self.op("FULLY_CONNECTED", [x, filter_, *self._bias(product, units, bias)], [y], options)

    def int4(self, y: int) -> int:
        """Store the filter of the last operator as int4. Each byte of the filter holds two values, and the first value
        is in the lower four bits.
        """
        filter_ = self.graph.tensors[self.graph.operators[-1].inputs[1]]
        values = np.asarray(self.tree.buffers[filter_.buffer].data, np.uint8) >> 4
        pairs = np.append(values, np.zeros(values.size % 2, np.uint8)).reshape(-1, 2)
        filter_.type = schema.TensorType.INT4
        self.tree.buffers[filter_.buffer].data = pairs[:, 0] | pairs[:, 1] << 4
        return y

    def add(self, a: int, b: int, *, activation: str = "NONE", out: Affine | None = None) -> int:
        affine = out or (self.affine(a)[0] + self.affine(b)[0], 5)
        wide = self.activations == "INT16"
        y = self.tensor(self.shape(a), self.activations, (affine[0], 0) if wide else affine)
        return self.op("ADD", [a, b], [y], schema.AddOptionsT(fusedActivationFunction=_activation(activation)))

    def binary(self, kind: str, a: int, b: int, *, activation: str = "NONE", out: Affine | None = None) -> int:
        fused = {"ADD": schema.AddOptionsT, "SUB": schema.SubOptionsT, "MUL": schema.MulOptionsT}.get(kind)
        options = fused(fusedActivationFunction=_activation(activation)) if fused else None
        y = self.tensor(np.broadcast_shapes(self.shape(a), self.shape(b)), self.dtype(a), out or self.affine(a))
        return self.op(kind, [a, b], [y], options)

    def pool(
        self,
        x: int,
        *,
        kind: str = "AVERAGE_POOL_2D",
        kernel: Pair = (2, 2),
        stride: Pair = (2, 2),
        padding: str = "VALID",
        activation: str = "NONE",
    ) -> int:
        n, h, w, c = self.shape(x)
        size = (out_size(h, kernel[0], stride[0], 1, padding), out_size(w, kernel[1], stride[1], 1, padding))
        y = self.tensor((n, *size, c), self.dtype(x), self.affine(x))
        options = schema.Pool2DOptionsT(
            **_window(padding, stride, activation), filterHeight=kernel[0], filterWidth=kernel[1]
        )
        return self.op(kind, [x], [y], options)

    def mean(self, x: int, axes: Sequence[int], *, keep: bool = True, out: Affine | None = None) -> int:
        axis = self.tensor((len(axes),), "INT32", None, data=axes)
        reduced = {a % len(self.shape(x)) for a in axes}
        shape = [1 if a in reduced else d for a, d in enumerate(self.shape(x)) if keep or a not in reduced]
        y = self.tensor(shape, self.dtype(x), out or self.affine(x))
        return self.op("MEAN", [x, axis], [y], schema.ReducerOptionsT(keepDims=keep))

    def batch_matmul(self, a: int, b: int, *, adjoint: bool, out: Affine, adj_x: bool = False) -> int:
        """If `adjoint` is true, the right matrix is transposed. If `adj_x` is true, the left matrix is transposed."""
        rows, columns = self.shape(a)[-1 if adj_x else -2], self.shape(b)[-2 if adjoint else -1]
        scale = max(out[0], self.affine(a)[0] * self.affine(b)[0])
        wide = self.dtype(a) == "INT16"
        y = self.tensor((*self.shape(a)[:-2], rows, columns), self.dtype(a), (scale, 0 if wide else out[1]))
        return self.op("BATCH_MATMUL", [a, b], [y], schema.BatchMatMulOptionsT(adjX=adj_x, adjY=adjoint))

    def gather(self, indices: int, rows: int, width: int) -> int:
        table = self.tensor((rows, width), data=self.rng.integers(-128, 128, (rows, width)))
        y = self.tensor((*self.shape(indices), width))
        return self.op("GATHER", [table, indices], [y], schema.GatherOptionsT(axis=0, batchDims=0))

    def softmax(self, x: int, *, beta: float = 1.0) -> int:
        y = self.tensor(self.shape(x), self.dtype(x), self.share(x))
        return self.op("SOFTMAX", [x], [y], schema.SoftmaxOptionsT(beta=beta))

    def share(self, x: int) -> Affine:
        """Return scale and zero point for values between 0 and 1 in the type of tensor `x`."""
        return (2.0**-15, 0) if self.dtype(x) == "INT16" else (1 / 256, -128)

    def unary(
        self, kind: str, x: int, *, dtype: str = "INT8", out: Affine | None = DEFAULT, options: Any = None
    ) -> int:
        return self.op(kind, [x], [self.tensor(self.shape(x), dtype, out)], options)

    def normalized(self, x: int) -> int:
        """Add L2_NORMALIZATION, which the converter leaves to TFLM."""
        y = self.tensor(self.shape(x), affine=(1 / 128, 0))
        return self.op("L2_NORMALIZATION", [x], [y], schema.L2NormOptionsT())

    def add_n(self, *xs: int) -> int:
        scale, zero_point = self.affine(xs[0])
        y = self.tensor(self.shape(xs[0]), affine=(scale * len(xs), zero_point))
        return self.op("ADD_N", list(xs), [y], schema.AddNOptionsT())

    def pad(self, x: int, amounts: Sequence[Pair], *, value: int | None = None) -> int:
        paddings = self.tensor((len(amounts), 2), "INT32", None, data=amounts)
        shape = [d + sum(pair) for d, pair in zip(self.shape(x), amounts, strict=True)]
        y = self.tensor(shape, self.dtype(x), self.affine(x))
        if value is None:
            return self.op("PAD", [x, paddings], [y], schema.PadOptionsT())
        constant = self.tensor((1,), self.dtype(x), self.affine(x), data=[value])
        return self.op("PADV2", [x, paddings, constant], [y], schema.PadV2OptionsT())

    def reshape(self, x: int, shape: Sequence[int]) -> int:
        target = self.tensor((len(shape),), "INT32", None, data=shape)
        y = self.tensor(shape, self.dtype(x), self.affine(x))
        return self.op("RESHAPE", [x, target], [y], schema.ReshapeOptionsT(newShape=np.asarray(shape, np.int32)))

    def transpose(self, x: int, order: Sequence[int]) -> int:
        permutation = self.tensor((len(order),), "INT32", None, data=order)
        y = self.tensor([self.shape(x)[a] for a in order], self.dtype(x), self.affine(x))
        return self.op("TRANSPOSE", [x, permutation], [y], schema.TransposeOptionsT())

    def _filter(self, x: int, shape: Sequence[int], axis: int, per_channel: bool) -> tuple[int, NDArray[np.float32]]:
        count = shape[axis] if per_channel else 1
        scales = self.rng.uniform(0.002, 0.02, count).astype(np.float32)
        data = self.rng.integers(-127, 128, shape)
        tensor = self.tensor(shape, data=data, scales=scales.tolist(), axis=axis)
        return tensor, np.float32(self.affine(x)[0]) * scales

    def _bias(self, product: NDArray[np.float32], channels: int, wanted: bool) -> list[int]:
        if not wanted:
            return []
        data = self.rng.integers(-3000, 3000, channels)
        dtype = "INT64" if self.activations == "INT16" else "INT32"
        return [self.tensor((channels,), dtype, None, data=data, scales=product.tolist())]

    def _sum_output(self, shape: Sequence[int], product: NDArray[np.float32], taps: int, out: Affine | None) -> int:
        """Add an output tensor whose scale covers most sums of `taps` random products."""
        spread = float(product.mean()) * 73 * 73 * math.sqrt(taps)
        if self.activations == "INT16":
            return self.tensor(shape, "INT16", (out[0] if out else spread / 50, 0))
        return self.tensor(shape, affine=out or (spread / 50, int(self.rng.integers(-20, 20))))


def out_size(size: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    """Return the output size along one dimension.

    >>> out_size(7, 3, 2, 1, "SAME"), out_size(7, 3, 2, 1, "VALID")
    (4, 3)
    """
    extent = (kernel - 1) * dilation + 1
    return math.ceil(size / stride) if padding == "SAME" else math.ceil((size - extent + 1) / stride)


def as_data(value: Any) -> Any:
    """Convert a tree of schema objects to dictionaries and lists, which can be compared.

    >>> as_data([schema.MetadataT(name="a", buffer=1)])
    [{'name': 'a', 'buffer': 1}]
    """
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | tuple):
        return [as_data(v) for v in value]
    return {k: as_data(v) for k, v in vars(value).items()} if hasattr(value, "__dict__") else value


def _window(padding: str, stride: Pair, activation: str) -> dict[str, int]:
    return {
        "padding": getattr(schema.Padding, padding),
        "strideH": stride[0],
        "strideW": stride[1],
        "fusedActivationFunction": _activation(activation),
    }


def _dilation(dilation: Pair) -> dict[str, int]:
    return {"dilationHFactor": dilation[0], "dilationWFactor": dilation[1]}


def _activation(name: str) -> int:
    return int(getattr(schema.ActivationFunctionType, name))
