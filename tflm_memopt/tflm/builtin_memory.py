"""Memory that the reference kernel of each TFLM operator allocates in addition to tensors.

In a row of the table KERNELS, `params` is the struct that the flatbuffer parser allocates, `state` is the struct that
Init allocates, and `prepare` states what Prepare does. The allocations are in the order of TFLM's sources, because the
order determines alignment gaps. Sources: tensorflow/lite/micro/kernels/*.cc, micro_mutable_op_resolver.h,
tensorflow/lite/core/api/flatbuffer_conversions.cc.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tflm_memopt.model.graph import ABSENT, Graph, Op, Tensor
from tflm_memopt.model.names import OURS
from tflm_memopt.model.reader import CUSTOM
from tflm_memopt.ops.context import span
from tflm_memopt.tflm.structs import Abi, size_of


@dataclass(frozen=True, slots=True)
class Persistent:
    """Bytes that AllocatePersistentBuffer reserves in the tail, aligned to 16."""

    nbytes: int


@dataclass(frozen=True, slots=True)
class TempTensor:
    """AllocateTempTfLiteTensor allocates a TfLiteTensor and its quantization until the end of Prepare."""

    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Scratch:
    """RequestScratchBufferInArena reserves bytes in the head for one operator, at a place that TFLM's planner
    chooses.
    """

    nbytes: int


@dataclass(frozen=True, slots=True)
class ResourceBuffer:
    """Bytes of a variable, which MicroResourceVariables::Allocate reserves in the tail when TFLM prepares the subgraph
    with VAR_HANDLE.
    """

    handle: Tensor
    nbytes: int


Step = Persistent | TempTensor | Scratch | ResourceBuffer


@dataclass(frozen=True, slots=True)
class Node:
    """An operator with its tensors, where None stands for an optional input that is absent."""

    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def tensor(self, name: str) -> Tensor | None:
        """Return input 1 of the operator for "i1", output 0 for "o0", or None if the operator has no such tensor."""
        group: tuple[Tensor | None, ...] = self.inputs if name[0] == "i" else self.outputs
        index = int(name[1:])
        return group[index] if index < len(group) else None

    def dtype(self, name: str) -> str:
        tensor = self.tensor(name)
        return "" if tensor is None else tensor.dtype

    def elements(self, name: str) -> int:
        tensor = self.tensor(name)
        return 0 if tensor is None else tensor.elements

    def rank(self, name: str) -> int:
        tensor = self.tensor(name)
        return 0 if tensor is None else len(tensor.shape)

    def dim(self, name: str, axis: int) -> int:
        tensor = self.tensor(name)
        return 0 if tensor is None or axis >= len(tensor.shape) else tensor.shape[axis]


def node_of(graph: Graph, op: Op) -> Node:
    inputs = tuple(None if i == ABSENT else graph.tensors[i] for i in op.inputs)
    return Node(inputs, tuple(graph.tensors[i] for i in op.outputs), op.options)


def kernel_name(op: Op) -> str:
    """Return the operator's name in the table of a kernel library."""
    return str(op.options["custom_code"]) if op.type == CUSTOM else op.type


Prepare = Callable[[Node, Abi], Iterator[Step]]


def temps(node: Node, names: str) -> Iterator[Step]:
    for name in names.split():
        tensor = node.tensor(name)
        if tensor is not None:
            yield TempTensor(tensor)


def reads(names: str) -> Prepare:
    return lambda node, abi: temps(node, names)


def _copies_dims(names: str, node: Node, abi: Abi) -> Iterator[Step]:
    """Replay a Prepare that copies the output's shape to RAM (CreateWritableTensorDimsWithCopy)."""
    yield from temps(node, names)
    yield int_array(node.rank("o0"))


def int_array(length: int) -> Persistent:
    """Return the allocation of a TfLiteIntArray, which holds its length before its items (core/c/common.h)."""
    return Persistent(4 + 4 * length)


def per_channel(channels: int) -> Iterator[Step]:
    yield Persistent(4 * channels)
    yield Persistent(4 * channels)


def scratch(nbytes: int) -> Iterator[Step]:
    if nbytes > 0:
        yield Scratch(nbytes)


@dataclass(frozen=True, slots=True)
class ConvShape:
    kernel_h: int
    kernel_w: int
    channels: int
    batches: int = 1
    in_h: int = 1
    in_w: int = 1
    out_h: int = 1
    out_w: int = 1
    out_channels: int = 1
    multiplier: int = 1
    stride_h: int = 1
    stride_w: int = 1
    dilation_h: int = 1
    dilation_w: int = 1
    pad_h: int = 0
    pad_w: int = 0


def conv_shape(node: Node) -> ConvShape:
    stride_h, stride_w, dilation_h, dilation_w = (
        max(1, int(node.options.get(name, 1))) for name in ("strideH", "strideW", "dilationHFactor", "dilationWFactor")
    )
    kernel_h, kernel_w, in_h, in_w = (node.dim(name, axis) for name in ("i1", "i0") for axis in (1, 2))
    if "filterHeight" in node.options:
        kernel_h, kernel_w = node.options["filterHeight"], node.options["filterWidth"]
    padding = str(node.options.get("padding", "VALID"))
    return ConvShape(
        kernel_h=kernel_h,
        kernel_w=kernel_w,
        channels=node.dim("i0", 3),
        batches=node.dim("i0", 0),
        in_h=in_h,
        in_w=in_w,
        out_h=node.dim("o0", 1),
        out_w=node.dim("o0", 2),
        out_channels=node.dim("o0", 3),
        multiplier=int(node.options.get("depthMultiplier", 1)),
        stride_h=stride_h,
        stride_w=stride_w,
        dilation_h=dilation_h,
        dilation_w=dilation_w,
        pad_h=span(in_h, kernel_h, stride_h, dilation_h, padding).before,
        pad_w=span(in_w, kernel_w, stride_w, dilation_w, padding).before,
    )


def _convolution(channel_axis: int, node: Node, abi: Abi) -> Iterator[Step]:
    """Replay Prepare of conv_common.cc or depthwise_conv_common.cc, which accesses input, filter and output twice."""
    yield from temps(node, "o0 i0 i1")
    yield from per_channel(node.dim("i1", channel_axis))
    yield from temps(node, "i0 i1 i2 o0")
    yield from _unpacked_filter(node)


def _unpacked_filter(node: Node) -> Iterator[Step]:
    """Request scratch for int4 weights, because each inference unpacks every weight to one byte."""
    if node.dtype("i1") == "INT4":
        yield Scratch(node.elements("i1"))


def _fully_connected(node: Node, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i0 i1 i2 o0")
    yield from _unpacked_filter(node)
    weights = node.tensor("i1")
    scales = len(weights.quantization.scale) if weights is not None and weights.quantization is not None else 0
    if scales > 1 and node.dtype("i0") != "FLOAT32":
        yield from per_channel(scales)


def _transpose_conv(node: Node, abi: Abi) -> Iterator[Step]:
    """Request an int32 or int64 accumulator per output element. The elements of input 0 are the output's shape
    (transpose_conv.cc).
    """
    yield from temps(node, "o0 i2 i1")
    yield from per_channel(node.dim("i1", 0))
    if node.dtype("i2") in _ACCUMULATOR_BYTES:
        yield Scratch(_ACCUMULATOR_BYTES[node.dtype("i2")] * node.elements("o0"))
        yield from temps(node, "i2 i1 i3 o0")
    if node.dtype("i3") == "INT16":
        yield Scratch(8 * node.elements("i3"))


_ACCUMULATOR_BYTES: Mapping[str, int] = {"INT8": 4, "INT16": 8}


def _mean_or_sum(node: Node, abi: Abi) -> Iterator[Step]:
    """Replay PrepareMeanOrSumHelper and PrepareSimple (reduce_common.cc)."""
    yield from temps(node, "i0 o0 i1")
    if node.dtype("i0") in ("INT8", "INT16"):
        yield Scratch(4 * node.elements("o0"))
    yield from _reduce_scratch(node)
    yield from _reduce_simple(node)


def _min_max_or_all(node: Node, abi: Abi) -> Iterator[Step]:
    yield from _reduce_simple(node)
    yield from temps(node, "i0 o0 i1")
    yield from _reduce_scratch(node)


def _reduce_simple(node: Node) -> Iterator[Step]:
    yield from temps(node, "i0 i1 o0" if node.dtype("i0") == "INT8" else "i0 i1")


def _reduce_scratch(node: Node) -> Iterator[Step]:
    yield Scratch(4 * node.rank("i0"))
    yield Scratch(4 * node.elements("i1"))


def _softmax(node: Node, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i0 o0")
    if node.dtype("i0") == "INT16":
        yield Persistent(_LUT_BYTES)
        yield Persistent(_LUT_BYTES)


_LUT_BYTES = 2 * 513
"""Bytes of a table with LUTSize<int16_t>() entries (kernels/internal/common.h)."""


def _svdf(node: Node, abi: Abi) -> Iterator[Step]:
    """Replay Prepare of SVDF, whose inputs are data, feature and time weights, bias and state (svdf_common.cc)."""
    yield from temps(node, "i0 i1 i2 i3 i4 o0")
    yield Scratch(4 * node.dim("i0", 0) * node.dim("i1", 0))
    if node.dtype("i0") == "INT8":
        yield Scratch(4 * node.elements("o0"))


def _lstm(node: Node, abi: Abi) -> Iterator[Step]:
    """Replay Prepare of LSTM, which requests four buffers as large as the cell state, one for each gate. Input 19 of an
    LSTM is the cell state (kernels/lstm_shared.h).
    """
    yield from temps(node, " ".join(f"i{k}" for k in range(24)) + " o0")
    cell = node.tensor("i19")
    for _ in range(4):
        yield Scratch(0 if cell is None else cell.nbytes)


def _batch_matmul(node: Node, abi: Abi) -> Iterator[Step]:
    """Replay Prepare of BATCH_MATMUL, which allocates copies of matrices. The left matrix is copied if adjX is set, and
    the right matrix if adjY is not set (batch_matmul.cc).
    """
    yield from temps(node, "i0 i1 o0")
    if node.dtype("i0") in ("INT8", "INT16"):
        yield Persistent(size_of("QuantizationOpDataBatchMatmul", abi))
    yield from transposed_copies(node, abi)
    yield int_array(node.rank("o0"))


def transposed_copies(node: Node, abi: Abi) -> Iterator[Step]:
    for name, transposed in (("i0", node.options.get("adjX", False)), ("i1", not node.options.get("adjY", False))):
        tensor = node.tensor(name)
        if transposed and tensor is not None:
            yield Persistent(size_of("TfLiteEvalTensor", abi))
            yield int_array(len(tensor.shape))
            yield Persistent(tensor.nbytes)


def _add_n(node: Node, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i0 o0 " + " ".join(f"i{k}" for k in range(1, len(node.inputs))))
    if node.dtype("o0") == "INT8":
        yield Persistent(size_of("add_n::OpData", abi))
    yield Scratch(size_of("pointer", abi) * len(node.inputs))


def _concatenation(node: Node, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i0 o0 " + " ".join(f"i{k}" for k in range(len(node.inputs))))


def _state_when_int8(names: str, state: str, node: Node, abi: Abi) -> Iterator[Step]:
    """Replay a Prepare that allocates a struct only for int8 (cumsum.cc, log_softmax.cc)."""
    yield from temps(node, names)
    if node.dtype("o0") == "INT8":
        yield Persistent(size_of(state, abi))


def _embedding_lookup(node: Node, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i0 i1 o0")
    yield int_array(node.rank("o0"))
    yield Persistent(size_of("embedding_lookup::OpData", abi))


def _reshape(node: Node, abi: Abi) -> Iterator[Step]:
    """Replay Prepare of RESHAPE, which copies the output's shape to RAM if a dimension is -1 (reshape_common.cc)."""
    yield from temps(node, "i0 o0")
    output = node.tensor("o0")
    if output is not None and -1 in output.shape:
        yield int_array(len(output.shape))


def _assign_variable(node: Node, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i1")
    handle, value = node.tensor("i0"), node.tensor("i1")
    if handle is not None and value is not None:
        yield ResourceBuffer(handle, value.nbytes)


def _mirror_pad(node: Node, abi: Abi) -> Iterator[Step]:
    yield from temps(node, "i0 i1 o0")
    for _ in range(2):
        yield Scratch(4 * node.rank("i0"))


_NOTHING = reads("")


@dataclass(frozen=True, slots=True)
class Kernel:
    params: str = ""
    state: str = ""
    prepare: Prepare = _NOTHING
    init: Prepare = _NOTHING


_IO = reads("i0 o0")
_2IO = reads("i0 i1 o0")
_3IO = reads("i0 i1 i2 o0")


def _alike(names: str, kernel: Kernel) -> Mapping[str, Kernel]:
    return dict.fromkeys(names.split(), kernel)


KERNELS: Mapping[str, Kernel] = {
    **_alike("BATCH_TO_SPACE_ND CEIL COS EXP LOG LOGICAL_NOT ROUND SIN SQRT SQUARE ZEROS_LIKE", Kernel(prepare=_IO)),
    **_alike(
        "BROADCAST_ARGS BROADCAST_TO EXPAND_DIMS FILL FLOOR_DIV FLOOR_MOD REVERSE_V2 TRANSPOSE", Kernel(prepare=_2IO)
    ),
    **_alike("DYNAMIC_UPDATE_SLICE SLICE", Kernel(prepare=_3IO)),
    **_alike("FLOOR LOGICAL_AND LOGICAL_OR MAXIMUM MINIMUM NEG", Kernel()),
    **_alike(
        "EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL",
        Kernel(state="comparisons::OpData", prepare=reads("i0 i1")),
    ),
    **_alike("AVERAGE_POOL_2D MAX_POOL_2D", Kernel("TfLitePoolParams", "OpDataPooling", _IO)),
    **_alike("MEAN SUM", Kernel("TfLiteReducerParams", "OpDataReduce", _mean_or_sum)),
    **_alike("REDUCE_ALL REDUCE_MAX REDUCE_MIN", Kernel("TfLiteReducerParams", "OpDataReduce", _min_max_or_all)),
    **_alike("ABS RSQRT", Kernel(state="OpDataAbsRsqrt", prepare=_IO)),
    **dict.fromkeys(OURS, Kernel()),  # the custom operators keep no data of their own
    "ADD": Kernel("TfLiteAddParams", "OpDataAdd", _2IO),
    "ADD_N": Kernel(prepare=_add_n),
    "ARG_MAX": Kernel("TfLiteArgMaxParams"),
    "ARG_MIN": Kernel("TfLiteArgMinParams"),
    "ASSIGN_VARIABLE": Kernel(state="assign_variable::OpData", prepare=_assign_variable),
    "BATCH_MATMUL": Kernel("TfLiteBatchMatMulParams", "OpDataBatchMatmul", _batch_matmul),
    "CALL_ONCE": Kernel("TfLiteCallOnceParams", "call_once::OpData"),
    "CAST": Kernel("TfLiteCastParams", prepare=_IO),
    "CIRCULAR_BUFFER": Kernel(state="OpDataCircularBuffer", prepare=_IO),
    "CONCATENATION": Kernel("TfLiteConcatenationParams", "concatenation::OpData", _concatenation),
    "CONV_2D": Kernel("TfLiteConvParams", "OpDataConv", partial(_convolution, 0)),
    "CUMSUM": Kernel("TfLiteCumsumParams", prepare=partial(_state_when_int8, "i0 i1 o0", "cumsum::OpData")),
    "DEPTHWISE_CONV_2D": Kernel("TfLiteDepthwiseConvParams", "OpDataConv", partial(_convolution, 3)),
    "DEPTH_TO_SPACE": Kernel("TfLiteDepthToSpaceParams", prepare=partial(_copies_dims, "i0 o0")),
    "DEQUANTIZE": Kernel(state="DequantizeOpData", prepare=_IO),
    "DIV": Kernel("TfLiteDivParams", "OpDataDiv", _2IO),
    "ELU": Kernel(state="elu::OpData", prepare=_IO),
    "EMBEDDING_LOOKUP": Kernel(prepare=_embedding_lookup),
    "FULLY_CONNECTED": Kernel("TfLiteFullyConnectedParams", "OpDataFullyConnected", _fully_connected),
    "GATHER": Kernel("TfLiteGatherParams", prepare=partial(_copies_dims, "i0 i1 o0")),
    "GATHER_ND": Kernel(prepare=partial(_copies_dims, "i0 i1 o0")),
    "HARD_SWISH": Kernel(state="HardSwishParams", prepare=_IO),
    "IF": Kernel("TfLiteIfParams", "if::OpData", reads("i0")),
    "L2_NORMALIZATION": Kernel("TfLiteL2NormParams", "L2NormalizationParams", _IO),
    "L2_POOL_2D": Kernel("TfLitePoolParams", prepare=partial(_copies_dims, "o0 i0")),
    "LEAKY_RELU": Kernel("TfLiteLeakyReluParams", "LeakyReluOpData", _IO),
    "LOGISTIC": Kernel(state="OpDataLogistic", prepare=_IO),
    "LOG_SOFTMAX": Kernel(prepare=partial(_state_when_int8, "i0 o0", "LogSoftmaxOpData")),
    "MIRROR_PAD": Kernel("TfLiteMirrorPaddingParams", "OpDataMirrorPad", _mirror_pad),
    "MUL": Kernel("TfLiteMulParams", "OpDataMul", _2IO),
    "PACK": Kernel("TfLitePackParams"),
    "PAD": Kernel(state="pad::OpData", prepare=_2IO),
    "PADV2": Kernel(state="pad::OpData", prepare=_3IO),
    "PRELU": Kernel(state="PreluParams", prepare=_2IO),
    "QUANTIZE": Kernel(state="OpDataQuantizeReference", prepare=_IO),
    "READ_VARIABLE": Kernel(prepare=reads("i0")),
    "RELU": Kernel(state="ReluOpData", prepare=_IO),
    "RELU6": Kernel(state="Relu6OpData", prepare=reads("i0")),
    "RESHAPE": Kernel("TfLiteReshapeParams", prepare=_reshape),
    "RESIZE_BILINEAR": Kernel("TfLiteResizeBilinearParams", prepare=_2IO),
    "RESIZE_NEAREST_NEIGHBOR": Kernel("TfLiteResizeNearestNeighborParams", prepare=_2IO),
    "SELECT_V2": Kernel(state="select::OpData", prepare=_3IO),
    "SHAPE": Kernel("TfLiteShapeParams"),
    "SOFTMAX": Kernel("TfLiteSoftmaxParams", "SoftmaxParams", _softmax),
    "SPACE_TO_BATCH_ND": Kernel(state="SpaceToBatchParams", prepare=_IO),
    "SPACE_TO_DEPTH": Kernel("TfLiteSpaceToDepthParams", prepare=partial(_copies_dims, "i0 o0")),
    "SPLIT": Kernel("TfLiteSplitParams", prepare=reads("i0")),
    "SPLIT_V": Kernel("TfLiteSplitVParams", prepare=reads("i2")),
    "SQUARED_DIFFERENCE": Kernel(state="squared_difference::OpData", prepare=_2IO),
    "SQUEEZE": Kernel("TfLiteSqueezeParams", prepare=_IO),
    "STRIDED_SLICE": Kernel("TfLiteStridedSliceParams", "StridedSliceParams", reads("i0 i1 i2 i3 o0")),
    "SUB": Kernel("TfLiteSubParams", "OpDataSub", _2IO),
    "SVDF": Kernel("TfLiteSVDFParams", "OpDataSvdf", _svdf),
    "TANH": Kernel(state="tanh::OpData", prepare=reads("i0 i0 o0")),
    "TRANSPOSE_CONV": Kernel("TfLiteTransposeConvParams", "transpose_conv::OpData", _transpose_conv),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Kernel("TfLiteUnidirectionalSequenceLSTMParams", "OpDataLSTM", _lstm),
    "UNPACK": Kernel("TfLiteUnpackParams"),
    "VAR_HANDLE": Kernel("TfLiteVarHandleParams", "var_handle::OpData"),
    "WHILE": Kernel("TfLiteWhileParams", "while::OpData"),
}
"""Maps the name of an operator in the schema, or the code of a custom operator, to the operator's allocations."""

UNKNOWN = Kernel()
"""Kernel with unknown allocations. If allocations are unknown, all figures of the arena are lower bounds."""
