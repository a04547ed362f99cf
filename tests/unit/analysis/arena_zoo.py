"""Builds a small model for each row of tflm_memopt/tflm/builtin_memory.py."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import memories
import moving
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from models import DEFAULT, Affine, Net

from tflm_memopt.model import writer

IMAGE = (1, 6, 5, 4)
SIGMOID, TANH = (1 / 256, -128), (1 / 128, 0)


class T(NamedTuple):
    shape: Sequence[int] = IMAGE
    dtype: str = "INT8"
    affine: Affine | None = None
    data: Any = None
    scales: Sequence[float] = ()


def ints(*values: Any) -> T:
    data = np.asarray(values[0] if len(values) == 1 else values, np.int32)
    return T(data.shape, "INT32", data=data)


def _one(
    kind: str, operands: Sequence[T], results: Sequence[T], options: Any = None, *, custom_code: str | None = None
) -> Callable[[], bytes]:
    def affine(t: T) -> Affine | None:
        return t.affine or (DEFAULT if t.dtype == "INT8" else None)

    def build() -> bytes:
        net = Net()
        ids = {n: net.input(t.shape, affine(t), dtype=t.dtype) for n, t in enumerate(operands) if t.data is None}
        for n, t in enumerate(operands):
            if t.data is not None:
                ids[n] = net.tensor(t.shape, t.dtype, affine(t), data=t.data, scales=t.scales)
        outputs = [net.tensor(t.shape, t.dtype, affine(t)) for t in results]
        net.op(kind, [ids[n] for n in range(len(operands))], outputs, options, custom_code=custom_code)
        return net.model(*outputs)

    return build


def _unary(kind: str, *, dtype: str = "INT8", options: Any = None, out: Affine | None = None) -> Callable[[], bytes]:
    return _one(kind, [T(dtype=dtype)], [T(dtype=dtype, affine=out)], options)


def _binary(kind: str, *, dtype: str = "INT8", result: str = "", options: Any = None) -> Callable[[], bytes]:
    image = T(dtype=dtype, affine=(0.05, 0) if dtype == "INT8" else None)
    return _one(kind, [image, image], [T(dtype=result) if result else image], options)


def _shaped(
    kind: str,
    constants: Sequence[Any],
    shape: Sequence[int],
    options: Any = None,
    *,
    first: bool = False,
    outputs: int = 1,
) -> Callable[[], bytes]:
    """If `first` is true, the int32 constants come before the image in the operator's list of inputs."""
    extra = [ints(c) for c in constants]
    return _one(kind, [*extra, T()] if first else [T(), *extra], [T(shape)] * outputs, options)


def _network() -> bytes:
    net = Net(seed=3)
    x = net.conv2d(net.input((1, 17, 13, 3)), 7, kernel=(3, 3), stride=(2, 2), activation="RELU6")
    y = net.depthwise_conv2d(x, kernel=(3, 3), activation="RELU")
    z = net.add(x, net.conv2d(y, 7, per_channel=False, bias=False))
    z = net.pool(net.pad(z, [(0, 0), (1, 1), (1, 1), (0, 0)]), kind="MAX_POOL_2D")
    z = net.pool(net.depthwise_conv2d(z, multiplier=3, per_channel=True))
    z = net.mean(z, (1, 2), keep=False)
    return net.model(net.softmax(net.fully_connected(z, 5, per_channel=True)))


def _float_network() -> bytes:
    net = Net(seed=4)
    a, b = net.input(IMAGE, None, dtype="FLOAT32"), net.input(IMAGE, None, dtype="FLOAT32")
    x, y = (net.unary("QUANTIZE", t, out=(0.05, 0)) for t in (a, b))
    s = net.op("SUB", [x, y], [net.tensor(IMAGE)], schema.SubOptionsT())
    m = net.op("MUL", [x, s], [net.tensor(IMAGE)], schema.MulOptionsT())
    return net.model(net.unary("DEQUANTIZE", m, dtype="FLOAT32", out=None), net.reshape(s, (1, 120)))


def _branches() -> bytes:
    net = Net(seed=5)
    x = net.input((1, 5, 7, 3))
    parts = [net.conv2d(x, channels, per_channel=bool(channels % 2)) for channels in (3, 5, 3, 8, 2)]
    for part in parts:
        net.graph.tensors[part].quantization = net.graph.tensors[parts[0]].quantization
    y = moving.concatenation(net, parts, 3)
    return net.model(net.conv2d(y, 4, kernel=(3, 3), stride=(2, 1)), parts[3])


def _unused_tensors() -> bytes:
    net = Net(seed=6)
    x = net.input((1, 40))
    net.tensor((1, 100))
    return net.model(net.unary("RELU", x), x)


def _svdf() -> bytes:
    net = Net()
    return net.model(memories.svdf(net, net.input((1, 8)), 3, rank=2, memory=5, dtype="INT16"))


def _logical() -> bytes:
    net = Net()
    a, b = (net.input(IMAGE, None, dtype="BOOL") for _ in range(2))
    y = net.op("LOGICAL_AND", [a, b], [net.tensor(IMAGE, "BOOL", None)], schema.LogicalAndOptionsT())
    y = net.op("LOGICAL_NOT", [y], [net.tensor(IMAGE, "BOOL", None)], schema.LogicalNotOptionsT())
    return net.model(net.op("LOGICAL_OR", [y, b], [net.tensor(IMAGE, "BOOL", None)], schema.LogicalOrOptionsT()))


def _cast() -> bytes:
    net = Net()
    x = net.input(IMAGE)
    y = net.op("CAST", [x], [net.tensor(IMAGE, "FLOAT32", None)], schema.CastOptionsT(inDataType=9, outDataType=0))
    return net.model(net.op("SHAPE", [y], [net.tensor((4,), "INT32", None)], schema.ShapeOptionsT(outType=2)))


def _argmax() -> bytes:
    net = Net()
    x = net.input((1, 10))
    axis = net.tensor((1,), "INT32", None, data=[1])
    y = net.op("ARG_MAX", [x, axis], [net.tensor((1,), "INT32", None)], schema.ArgMaxOptionsT(outputType=2))
    return net.model(
        y, net.op("ARG_MIN", [x, axis], [net.tensor((1,), "INT32", None)], schema.ArgMinOptionsT(outputType=2))
    )


def _pack() -> bytes:
    net = Net()
    y = moving.pack(net, [net.input((3, 4)), net.input((3, 4))], 0)
    return net.model(*moving.unpack(net, y, 0))


def lstm(dtype: str = "FLOAT32", *, units: int = 4, features: int = 3, steps: int = 2) -> bytes:
    net = Net()
    whole = dtype == "FLOAT32"
    bias_type = {"INT8": "INT32", "INT16": "INT64"}.get(dtype, dtype)

    def affine(scale: float) -> tuple[float, int] | None:
        return None if whole else (scale, 0)

    x = net.input((1, steps, features), affine(0.05), dtype=dtype)

    def constant(kind: str, scale: float, *shape: int) -> int:
        return net.tensor(shape, kind, affine(scale), data=np.ones(shape))

    def weights(*shape: int) -> int:
        return constant(dtype if whole else "INT8", 0.01, *shape)

    output = net.tensor((1, units), dtype, affine(1 / 128))
    cell = net.tensor((1, units), dtype if whole else "INT16", affine(2**-12))
    for state in (output, cell):
        net.graph.tensors[state].isVariable = True
    gates = [weights(units, features) for _ in range(4)] + [weights(units, units) for _ in range(4)]
    biases = [constant(bias_type, 0.0005, units) for _ in range(4)]
    inputs = [x, *gates, -1, -1, -1, *biases, -1, -1, output, cell, -1, -1, -1, -1]
    options = schema.UnidirectionalSequenceLSTMOptionsT(fusedActivationFunction=schema.ActivationFunctionType.TANH)
    y = net.tensor((1, steps, units), dtype, affine(1 / 128))
    net.op("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [y], options)
    if not whole:
        sums = [*(net.tensor((0,), "INT16", affine(2**-12)) for _ in range(4)), net.tensor((0,), "INT8", (1 / 128, 0))]
        net.graph.operators[-1].intermediates = np.asarray(sums, np.int32)
    return net.model(y)


def resource_variables() -> bytes:
    net = Net()
    x = net.input((1, 20))

    def handle(name: str) -> int:
        options = schema.VarHandleOptionsT(container="", sharedName=name)
        return net.op("VAR_HANDLE", [], [net.tensor((), "RESOURCE", None)], options)

    def first() -> int:
        net.op("ASSIGN_VARIABLE", [handle("rolling_buffer"), value := net.tensor((1, 20), data=np.ones((1, 20)))], [])
        return value

    net.op("CALL_ONCE", [], [], schema.CallOnceOptionsT(initSubgraphIndex=1))
    rolling_buffer, sums = handle("rolling_buffer"), handle("sums")
    old = net.op("READ_VARIABLE", [rolling_buffer], [net.tensor((1, 20))], schema.ReadVariableOptionsT())
    y = net.add(x, old)
    net.op("ASSIGN_VARIABLE", [rolling_buffer, y], [])
    net.op("ASSIGN_VARIABLE", [sums, net.fully_connected(y, 7)], [])
    again = net.op("READ_VARIABLE", [handle("sums")], [net.tensor((1, 7))], schema.ReadVariableOptionsT())
    return with_subgraphs(net, net.unary("RELU", again), first)


def _if() -> bytes:
    net = Net()
    condition, x = net.input((1,), None, dtype="BOOL"), net.input((1, 20))
    options = schema.IfOptionsT(thenSubgraphIndex=1, elseSubgraphIndex=2)
    y = net.unary("RELU", net.op("IF", [condition, x], [net.tensor((1, 20))], options))

    def branch(length: int) -> Callable[[], int]:
        def build() -> int:
            z = net.input((1, 20))
            for _ in range(length):
                z = net.fully_connected(z, 20)
            return z

        return build

    return with_subgraphs(net, y, branch(1), branch(3))


def _while() -> bytes:
    net = Net()
    x = net.input(IMAGE)
    options = schema.WhileOptionsT(condSubgraphIndex=1, bodySubgraphIndex=2)
    y = net.op("WHILE", [x], [net.tensor(IMAGE)], options)

    def condition() -> int:
        z = net.input(IMAGE)
        return net.op("LESS", [z, z], [net.tensor((1,), "BOOL", None)])

    return with_subgraphs(net, y, condition, lambda: net.conv2d(net.input(IMAGE), 4))


def with_subgraphs(net: Net, output: int, *builders: Callable[[], int]) -> bytes:
    net.graph.outputs = [output]
    graphs = [net.graph]
    for number, build in enumerate(builders):
        net.graph = schema.SubGraphT(tensors=[], inputs=[], outputs=[], operators=[], name=f"called{number}")
        net.tree.subgraphs = [net.graph]
        net.graph.outputs = [build()]
        graphs.append(net.graph)
    net.tree.subgraphs = graphs
    return writer.write(net.tree)


def _region() -> bytes:
    net = Net()
    x = net.unary("RELU", net.input((1, 8, 8, 4)))
    program = net.tensor((64,), "UINT8", None, data=np.zeros(64))
    y, space = net.tensor((1, 4, 4, 4)), net.tensor((200,), "UINT8", None)
    net.op("CUSTOM", [x, program], [y, space], custom_code="TMO_REGION")
    z = net.softmax(y)
    offsets = {x: 16, y: 64, space: 0, z: 160}
    plan = [1, 1, len(net.graph.tensors), *(offsets.get(i, -1) for i in range(len(net.graph.tensors)))]
    writer.set_metadata(net.tree, "OfflineMemoryAllocation", np.array(plan, "<i4"))
    return net.model(z)


ZOO: Mapping[str, Callable[[], bytes]] = {
    "network": _network,
    "float_network": _float_network,
    "branches": _branches,
    "unused_tensors": _unused_tensors,
    "if": _if,
    "while": _while,
    "batch_matmul": _one("BATCH_MATMUL", [T((1, 4, 6)), T((1, 6, 3))], [T((1, 4, 3))], schema.BatchMatMulOptionsT()),
    "pad_with_value": _one(
        "PADV2",
        [T(), ints((0, 0), (1, 0), (0, 2), (0, 0)), T((1,), data=[3])],
        [T((1, 7, 7, 4))],
        schema.PadV2OptionsT(),
    ),
    "fill": _one("FILL", [ints(3, 5), T(())], [T((3, 5))]),
    "reduce_all": _one("REDUCE_ALL", [T(dtype="BOOL"), ints((1,))], [T((1, 5, 4), "BOOL")], schema.ReducerOptionsT()),
    "circular_buffer": _one("CUSTOM", [T((1, 1, 5, 4))], [T((1, 3, 5, 4))], custom_code="CIRCULAR_BUFFER"),
    "lstm": lstm,
    "lstm_int8": lambda: lstm("INT8"),
    "lstm_int16": lambda: lstm("INT16", units=8, features=24, steps=3),
    "resource_variables": resource_variables,
    "transpose_conv": _one(
        "TRANSPOSE_CONV",
        [ints(1, 8, 8, 2), T((2, 3, 3, 3), data=np.ones((2, 3, 3, 3)), scales=(0.01, 0.02)), T((1, 4, 4, 3))],
        [T((1, 8, 8, 2))],
        schema.TransposeConvOptionsT(strideH=2, strideW=2),
    ),
    "svdf": _svdf,
    "int16_softmax": _one(
        "SOFTMAX",
        [T((1, 10), "INT16", (0.001, 0))],
        [T((1, 10), "INT16", (1 / 32768, 0))],
        schema.SoftmaxOptionsT(beta=1.0),
    ),
    "embedding_lookup": _one(
        "EMBEDDING_LOOKUP",
        [T((3,), "INT32"), T((9, 6), affine=(0.1, 0), data=np.ones((9, 6)))],
        [T((3, 6), affine=(0.1, 0))],
    ),
    "broadcast_args": _one("BROADCAST_ARGS", [T((3,), "INT32")] * 2, [T((3,), "INT32")]),
    "select": _one("SELECT_V2", [T(dtype="BOOL"), T(), T()], [T()], schema.SelectV2OptionsT()),
    "logical": _logical,
    "prelu": _one("PRELU", [T(), T((1, 1, 4), data=np.ones((1, 1, 4)))], [T()]),
    "cast_shape": _cast,
    "arg_max_min": _argmax,
    "pack_unpack": _pack,
    "add_n_int8": _one("ADD_N", [T(affine=(0.05, 0))] * 3, [T(affine=(0.05, 0))], schema.AddNOptionsT()),
    "add_n_float": _one("ADD_N", [T(dtype="FLOAT32")] * 3, [T(dtype="FLOAT32")], schema.AddNOptionsT()),
    "relu": _unary("RELU"),
    "relu6": _unary("RELU6"),
    "logistic": _unary("LOGISTIC", out=SIGMOID),
    "tanh": _unary("TANH", out=TANH),
    "hard_swish": _unary("HARD_SWISH", options=schema.HardSwishOptionsT()),
    "leaky_relu": _unary("LEAKY_RELU", options=schema.LeakyReluOptionsT(alpha=0.1)),
    "elu": _unary("ELU"),
    "log_softmax": _unary("LOG_SOFTMAX", options=schema.LogSoftmaxOptionsT(), out=(16 / 256, 127)),
    "l2_normalization": _unary("L2_NORMALIZATION", options=schema.L2NormOptionsT(), out=TANH),
    "abs": _unary("ABS", options=schema.AbsOptionsT()),
    "rsqrt": _unary("RSQRT", dtype="FLOAT32"),
    **{kind.lower(): _unary(kind, dtype="FLOAT32") for kind in ("CEIL", "COS", "EXP", "FLOOR", "LOG", "NEG", "ROUND")},
    **{kind.lower(): _unary(kind, dtype="FLOAT32") for kind in ("SIN", "SQRT", "SQUARE", "ZEROS_LIKE")},
    "l2_pool": _unary(
        "L2_POOL_2D",
        dtype="FLOAT32",
        options=schema.Pool2DOptionsT(strideH=1, strideW=1, filterHeight=1, filterWidth=1),
    ),
    **{kind.lower(): _binary(kind) for kind in ("MAXIMUM", "MINIMUM")},
    "sub": _binary("SUB", options=schema.SubOptionsT()),
    "mul": _binary("MUL", options=schema.MulOptionsT()),
    "div": _binary("DIV", options=schema.DivOptionsT()),
    "floor_div": _binary("FLOOR_DIV", dtype="FLOAT32"),
    "floor_mod": _binary("FLOOR_MOD", dtype="FLOAT32"),
    "squared_difference": _binary("SQUARED_DIFFERENCE"),
    **{
        kind.lower(): _binary(kind, result="BOOL")
        for kind in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
    },
    "transpose": _shaped("TRANSPOSE", [(0, 3, 1, 2)], (1, 4, 6, 5), schema.TransposeOptionsT()),
    "sum": _shaped("SUM", [(1, 2)], (1, 4), schema.ReducerOptionsT()),
    "mean": _shaped("MEAN", [(1,)], (1, 5, 4), schema.ReducerOptionsT()),
    "reduce_max": _shaped("REDUCE_MAX", [(1, 2)], (1, 4), schema.ReducerOptionsT()),
    "reduce_min": _shaped("REDUCE_MIN", [(1, 2)], (1, 4), schema.ReducerOptionsT()),
    "slice": _shaped("SLICE", [(0, 1, 1, 0), (1, 3, 2, 4)], (1, 3, 2, 4), schema.SliceOptionsT()),
    "strided_slice": _shaped(
        "STRIDED_SLICE", [(0, 0, 0, 0), (1, 6, 4, 4), (1, 2, 2, 1)], (1, 3, 2, 4), schema.StridedSliceOptionsT()
    ),
    "split": _shaped("SPLIT", [3], (1, 6, 5, 2), schema.SplitOptionsT(numSplits=2), first=True, outputs=2),
    "split_v": _shaped("SPLIT_V", [(2, 2), 3], (1, 6, 5, 2), schema.SplitVOptionsT(numSplits=2), outputs=2),
    "resize_nearest": _shaped(
        "RESIZE_NEAREST_NEIGHBOR", [(12, 10)], (1, 12, 10, 4), schema.ResizeNearestNeighborOptionsT()
    ),
    "resize_bilinear": _shaped("RESIZE_BILINEAR", [(12, 10)], (1, 12, 10, 4), schema.ResizeBilinearOptionsT()),
    "expand_dims": _shaped("EXPAND_DIMS", [0], (1, *IMAGE), schema.ExpandDimsOptionsT()),
    "squeeze": _shaped("SQUEEZE", [], IMAGE[1:], schema.SqueezeOptionsT(squeezeDims=np.asarray([0], np.int32))),
    "broadcast_to": _shaped("BROADCAST_TO", [(2, 6, 5, 4)], (2, 6, 5, 4)),
    "reverse": _shaped("REVERSE_V2", [(1,)], IMAGE),
    "cumsum": _shaped("CUMSUM", [1], IMAGE, schema.CumsumOptionsT()),
    "gather": _shaped("GATHER", [(0, 2)], (1, 2, 5, 4), schema.GatherOptionsT(axis=1)),
    "gather_nd": _shaped("GATHER_ND", [((0, 1), (0, 3))], (2, 5, 4), schema.GatherNdOptionsT()),
    "mirror_pad": _shaped("MIRROR_PAD", [((0, 0), (1, 1), (1, 1), (0, 0))], (1, 8, 7, 4), schema.MirrorPadOptionsT()),
    "space_to_batch": _shaped("SPACE_TO_BATCH_ND", [(2, 1), ((0, 0), (0, 0))], (2, 3, 5, 4)),
    "space_to_depth": _shaped("SPACE_TO_DEPTH", [], IMAGE, schema.SpaceToDepthOptionsT(blockSize=1)),
    "batch_to_space": _shaped("BATCH_TO_SPACE_ND", [(1, 1), ((0, 0), (0, 0))], IMAGE),
    "dynamic_update_slice": _one("DYNAMIC_UPDATE_SLICE", [T(), T((1, 2, 2, 4)), ints(0, 1, 1, 0)], [T()]),
    "depth_to_space": _shaped("DEPTH_TO_SPACE", [], (1, 12, 10, 1), schema.DepthToSpaceOptionsT(blockSize=2)),
}

REGION = _region
