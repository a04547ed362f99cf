"""Order in which kernels access their tensors, which determines whether an output may overlap an input. A test verifies
the orders of the reference kernels by logging each load and store of TFLM's code (tests/tflm/test_access_order.py). The
order is unknown for kernels of CMSIS-NN and ESP-NN, so no plan lets their outputs overlap their inputs. A compiler may
move a store above a load of another type, unless one of the types is a byte. If a kernel reads one type and writes
another, and neither type is a byte, the order counts as unknown.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import Graph, Op, Tensor, TensorId
from tflm_memopt.ops import movement
from tflm_memopt.ops.context import OperatorContext
from tflm_memopt.ops.moves import numbered
from tflm_memopt.rowgraph.graph import AccessOrder, StoredIn
from tflm_memopt.tflm.builtin_memory import ConvShape, Node, conv_shape, node_of
from tflm_memopt.tflm.lifetimes import ALIGNMENT

Ints = NDArray[np.int64]
Order = Callable[[Node, int], tuple[Ints, Ints]]
"""Function with two arguments: a node, and the index of an input. The function returns two arrays: the time of the last
load of each input element, and the time of the first store of each output element. Time is counted in loads and stores.
"""
BYTE, SHORT, FLOAT = "INT8", "INT16", "FLOAT32"
ALIKE = ((BYTE, BYTE), (SHORT, SHORT), (FLOAT, FLOAT))


@dataclass(frozen=True, slots=True)
class KernelOrder:
    order: Order
    types: tuple[tuple[str, str], ...] = ALIKE
    """Pairs of input and output types for which tests verify the access order."""
    operands: int = 1
    """The access order is known for the first `operands` inputs of an operator."""


def elementwise(node: Node, k: int) -> tuple[Ints, Ints]:
    steps = np.arange(node.elements("o0"))
    return steps, steps


def whole_windows(node: Node, k: int) -> tuple[Ints, Ints]:
    """The kernel computes each output channel from all channels of the window."""
    w = conv_shape(node)
    last = _last_pixel(w) * w.out_channels
    return np.repeat(np.where(last < 0, -1, last + w.out_channels - 1), w.channels), _written(node)


def channel_windows(node: Node, k: int) -> tuple[Ints, Ints]:
    """The kernel computes each output channel from one channel of the window."""
    w = conv_shape(node)
    last = _last_pixel(w)[:, None]
    read = (np.arange(w.channels) + 1) * w.multiplier - 1
    return np.where(last < 0, -1, last * w.out_channels + read).ravel(), _written(node)


def rows_of_dense(node: Node, k: int) -> tuple[Ints, Ints]:
    """The kernel computes each output from all inputs of its row."""
    units = node.dim("i1", 0)
    rows = node.elements("o0") // units
    return np.repeat((np.arange(rows) + 1) * units - 1, node.elements("i0") // rows), _written(node)


def padded(node: Node, k: int) -> tuple[Ints, Ints]:
    """The kernel writes outputs in order and reads each input once."""
    shape, margins = node.outputs[0].shape, node.tensor("i1")
    before = np.asarray(margins.data if margins is not None else ()).reshape(-1, 2)[:, 0]
    inside = tuple(slice(b, b + node.dim("i0", axis)) for axis, b in enumerate(before))
    return np.arange(math.prod(shape)).reshape(shape)[inside].ravel(), _written(node)


def _written(node: Node) -> Ints:
    return np.arange(node.elements("o0"))


def _last_pixel(w: ConvShape) -> Ints:
    """Return the index of the last output pixel that reads each input pixel, or -1 for an unread input pixel."""
    y = _last_window(w.in_h, w.out_h, w.kernel_h, w.stride_h, w.dilation_h, w.pad_h)[:, None]
    x = _last_window(w.in_w, w.out_w, w.kernel_w, w.stride_w, w.dilation_w, w.pad_w)
    last = np.where((y < 0) | (x < 0), -1, y * w.out_w + x).ravel()
    batch = np.arange(w.batches)[:, None] * (w.out_h * w.out_w)
    return np.where(last < 0, -1, last + batch).ravel()


def _last_window(size: int, windows: int, kernel: int, stride: int, dilation: int, pad: int) -> Ints:
    last = np.full(size, -1)
    for window in range(windows):
        at = window * stride - pad + dilation * np.arange(kernel)
        last[at[(at >= 0) & (at < size)]] = window
    return last


REFERENCE: Mapping[str, KernelOrder] = {
    "ADD": KernelOrder(elementwise, operands=2),
    "AVERAGE_POOL_2D": KernelOrder(channel_windows),
    "CONV_2D": KernelOrder(whole_windows),
    "DEPTHWISE_CONV_2D": KernelOrder(channel_windows),
    "DEQUANTIZE": KernelOrder(elementwise, ((BYTE, FLOAT),)),
    "FULLY_CONNECTED": KernelOrder(rows_of_dense),
    "HARD_SWISH": KernelOrder(elementwise, ((BYTE, BYTE), (FLOAT, FLOAT))),
    "LEAKY_RELU": KernelOrder(elementwise),
    "LOGISTIC": KernelOrder(elementwise),
    "MAX_POOL_2D": KernelOrder(channel_windows),
    "MUL": KernelOrder(elementwise, operands=2),
    "PAD": KernelOrder(padded),
    "QUANTIZE": KernelOrder(elementwise, ((FLOAT, BYTE), (BYTE, BYTE))),
    "SOFTMAX": KernelOrder(elementwise),
    "SUB": KernelOrder(elementwise, operands=2),
    "TANH": KernelOrder(elementwise),
}

CMSIS_NN = frozenset(
    (
        "ADD", "AVERAGE_POOL_2D", "BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MAXIMUM",
        "MAX_POOL_2D", "MINIMUM", "MUL", "PAD", "PADV2", "SOFTMAX", "SVDF", "TRANSPOSE", "TRANSPOSE_CONV",
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
    )
)  # fmt: skip
"""Operators for which CMSIS-NN has kernels (tensorflow/lite/micro/kernels/cmsis_nn)."""
ESP_NN = frozenset(
    ("ADD", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MAX_POOL_2D", "MUL", "SOFTMAX")
)
"""Operators for which ESP-NN has kernels (tensorflow/lite/micro/kernels/esp_nn of esp-tflite-micro)."""


def without(replaced: frozenset[str]) -> Mapping[str, KernelOrder]:
    return {name: row for name, row in REFERENCE.items() if name not in replaced}


def orders(rows: Mapping[str, KernelOrder], op: Op, node: Node) -> Mapping[TensorId, Callable[[], AccessOrder]]:
    """Return the inputs that an operator's output may overlap, with the kernel's access order for each input."""
    row = rows.get(op.type)
    if row is None or len(op.outputs) != 1:
        return MappingProxyType({})
    output = node.outputs[0]
    found: dict[TensorId, Callable[[], AccessOrder]] = {}
    for k, tensor in enumerate(node.inputs[: row.operands]):
        if tensor is None or tensor.constant or (tensor.dtype, output.dtype) not in row.types:
            continue
        if row.order is not elementwise or tensor.shape == output.shape:  # a broadcast operand is read several times
            found[tensor.id] = partial(_in_bytes, row.order, node, k, tensor, output)
    return found


def _in_bytes(order: Order, node: Node, k: int, tensor: Tensor, output: Tensor) -> AccessOrder:
    read, written = order(node, k)
    return AccessOrder(
        np.repeat(read, tensor.nbytes // max(1, tensor.elements)),
        np.repeat(written, output.nbytes // max(1, output.elements)),
    )


VIEWS = frozenset(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"))
"""Operators that change only the shape of a tensor. The kernels of RESHAPE and SQUEEZE copy nothing if input and output
are the same memory (reshape.cc, squeeze.cc).
"""
SLICES = frozenset(("SLICE", "STRIDED_SLICE"))
UNREAD = ("ellipsisMask", "newAxisMask", "offset")
"""Options of STRIDED_SLICE that TFLM ignores."""
COPIES = VIEWS | SLICES | {"CONCATENATION"}


def parts(graph: Graph, op: Op) -> Iterator[tuple[TensorId, StoredIn]]:
    """Yield tensors that can be stored inside another tensor, so that no kernel has to copy them. Such tensors are the
    output of a view, a slice of adjacent bytes, and the inputs of a CONCATENATION along the outermost axis.
    """
    node = node_of(graph, op)
    if not op.outputs or any(t is not None and t.variable for t in (*node.inputs, *node.outputs)):
        return
    if op.type in VIEWS and node.inputs[0] is not None and not node.inputs[0].constant:
        yield op.outputs[0], StoredIn(op.inputs[0])
    elif op.type == "CONCATENATION":
        yield from _joined(op, node)
    elif op.type in SLICES:
        yield from _sliced(graph, op, node)


def _joined(op: Op, node: Node) -> Iterator[tuple[TensorId, StoredIn]]:
    shape = node.outputs[0].shape
    axis = int(node.options.get("axis", 0)) % max(1, len(shape))
    pieces = [t for t in node.inputs if t is not None]
    firsts = np.cumsum([0, *(t.nbytes for t in pieces)]).tolist()
    whole = math.prod(shape[:axis]) == 1 and len({t.id for t in pieces}) == len(op.inputs)
    if whole and not any(t.constant for t in pieces) and not any(first % ALIGNMENT for first in firsts[:-1]):
        yield from ((t.id, StoredIn(op.outputs[0], first)) for t, first in zip(pieces, firsts, strict=False))


def _sliced(graph: Graph, op: Op, node: Node) -> Iterator[tuple[TensorId, StoredIn]]:
    source, output = node.inputs[0], node.outputs[0]
    if source is None or source.constant or any(op.options.get(n) for n in UNREAD):
        return
    item = source.nbytes // max(1, source.elements)
    try:
        (elements,) = numbered([source.shape])
        taken = movement.STEP[op.type](OperatorContext(graph, op), [elements]).ravel()
    except (ValueError, KeyError):  # TFLM rejects the operator, or its operands are known only at run time
        return
    first = int(taken[0]) if len(taken) else 0
    run = np.array_equal(taken, first + np.arange(len(taken))) and taken.size == output.elements
    if run and not first * item % ALIGNMENT:
        yield output.id, StoredIn(source.id, first * item)
