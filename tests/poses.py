"""Builds a network like MoveNet, which finds 17 key points of a person."""

import moving
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from models import Net

POINTS = 17


def floats(net: Net, values: object) -> int:
    data = np.asarray(values, np.float32)
    return net.tensor(data.shape, "FLOAT32", None, data=data)


def cast(net: Net, x: int, dtype: str) -> int:
    options = schema.CastOptionsT(net.graph.tensors[x].type, getattr(schema.TensorType, dtype))
    affine = None if dtype in ("FLOAT32", "INT32") else (0.05, 0)
    return net.op("CAST", [x], [net.tensor(net.shape(x), dtype, affine)], options)


def two(net: Net, kind: str, a: int, b: int, dtype: str = "") -> int:
    fused = {"ADD": schema.AddOptionsT, "SUB": schema.SubOptionsT, "MUL": schema.MulOptionsT, "DIV": schema.DivOptionsT}
    y = net.tensor(np.broadcast_shapes(net.shape(a), net.shape(b)), dtype or net.dtype(a), None)
    return net.op(kind, [a, b], [y], fused[kind]() if kind in fused else None)


def one(net: Net, kind: str, x: int) -> int:
    return net.op(kind, [x], [net.tensor(net.shape(x), net.dtype(x), None)])


def gather_nd(net: Net, params: int, indices: int) -> int:
    depth = net.shape(indices)[-1]
    y = net.tensor((*net.shape(indices)[:-1], *net.shape(params)[depth:]), net.dtype(params), net.affine(params))
    return net.op("GATHER_ND", [params, indices], [y], schema.GatherNdOptionsT())


def dequantized(net: Net, x: int) -> int:
    return net.unary("DEQUANTIZE", x, dtype="FLOAT32", out=None)


def pose_network(size: int = 192, channels: int = 24, depth: int = 2) -> bytes:
    net = Net(5)
    x = net.conv2d(net.input((1, size, size, 3)), channels, kernel=(3, 3), stride=(2, 2), activation="RELU6")
    x = net.depthwise_conv2d(x, stride=(2, 2), activation="RELU6")
    for _ in range(depth):
        y = net.depthwise_conv2d(net.conv2d(x, 2 * channels, activation="RELU6"), activation="RELU6")
        x = net.add(x, net.conv2d(y, channels))
    centre, regressed, heat, offsets = (
        net.conv2d(net.depthwise_conv2d(x, out=(0.1, 3)), n, out=(0.05, 1)) for n in (1, 2 * POINTS, POINTS, 2 * POINTS)
    )
    return net.model(decoded(net, centre, regressed, heat, offsets))


def float_end() -> bytes:
    net = Net(3)
    x = net.input((1, 9, 7, 3), None, dtype="FLOAT32")
    y = net.tensor(net.shape(x))
    net.op("SELECT_V2", [two(net, "LESS", x, floats(net, [0.5]), "BOOL"), x, floats(net, [[1, 2, 3]])], [y])
    x = moving.resize(net, y, (13, 9), bilinear=True, half=True)
    ends = [moving.reduce(net, kind, x, [1, 2]) for kind in ("SUM", "REDUCE_MIN")]
    ends.append(net.op("LOG_SOFTMAX", [x], [net.tensor(net.shape(x))], schema.LogSoftmaxOptionsT()))
    for tensor in net.graph.tensors:
        tensor.quantization = None
        if tensor.type == schema.TensorType.INT8:
            tensor.type = schema.TensorType.FLOAT32
    return net.model(*ends)


def int4_network() -> bytes:
    net = Net(4)
    x = net.int4(net.conv2d(net.input((1, 9, 8, 3)), 5, kernel=(3, 3), stride=(1, 2)))
    x = net.int4(net.depthwise_conv2d(x, multiplier=3, kernel=(3, 3)))
    return net.model(net.int4(net.fully_connected(net.mean(x, (1, 2)), 3)))


def decoded(net: Net, centre: int, regressed: int, heat: int, offsets: int) -> int:
    _, h, w, _ = net.shape(heat)
    y, x = (v.astype(np.float32)[..., np.newaxis] for v in np.mgrid[:h, :w])
    weights = 1 / (np.hypot(y - h / 2, x - w / 2) + 1)
    centre, heat = (net.unary("LOGISTIC", m, out=(1 / 256, -128)) for m in (centre, heat))
    weighted = two(net, "MUL", dequantized(net, centre), floats(net, weights[np.newaxis]))
    at = moving.arg_max(net, net.reshape(weighted, (1, h * w, 1)), axis=1)
    pair = index(net, at, w, 1)
    root = net.reshape(dequantized(net, gather_nd(net, regressed, pair)), (1, POINTS, 2))
    grid = net.reshape(cast(net, moving.slice_(net, pair, [0, 1], [1, 2]), "FLOAT32"), (1, 1, 2))
    guess = two(net, "ADD", root, grid)
    rows, columns = (
        net.reshape(moving.slice_(net, guess, [0, 0, k], [1, POINTS, 1]), (1, 1, 1, POINTS)) for k in range(2)
    )
    squares = [
        one(net, "SQUARE", two(net, "SUB", floats(net, np.broadcast_to(v[np.newaxis], (1, h, w, POINTS))), mean))
        for v, mean in ((y, rows), (x, columns))
    ]
    distance = one(net, "SQRT", two(net, "ADD", *squares))
    scores = two(net, "DIV", dequantized(net, heat), two(net, "ADD", distance, floats(net, [1.8])))
    best = moving.arg_max(net, net.reshape(scores, (1, h * w, POINTS)), axis=1)
    return joined(net, best, heat, offsets)


def index(net: Net, at: int, width: int, count: int) -> int:
    real = net.reshape(cast(net, at, "FLOAT32"), (count, 1))
    row = two(net, "FLOOR_DIV", real, floats(net, [width]))
    column = two(net, "FLOOR_MOD", real, floats(net, [width]))
    batch = net.tensor((count, 1), "INT32", None, data=np.zeros((count, 1)))
    return moving.concatenation(net, [batch, cast(net, row, "INT32"), cast(net, column, "INT32")], 1)


def joined(net: Net, best: int, heat: int, offsets: int) -> int:
    _, h, w, _ = net.shape(heat)
    place = index(net, best, w, POINTS)
    numbers = net.tensor((POINTS, 1), "INT32", None, data=np.arange(POINTS)[:, np.newaxis])
    which = moving.concatenation(net, [place, numbers], 1)
    moved = dequantized(net, gather_nd(net, net.reshape(offsets, (1, h, w, POINTS, 2)), which))
    real = cast(net, moving.slice_(net, place, [0, 1], [POINTS, 2]), "FLOAT32")
    points = two(net, "MUL", two(net, "ADD", real, moved), floats(net, [1 / h]))
    score = net.reshape(dequantized(net, gather_nd(net, heat, which)), (POINTS, 1))
    return net.reshape(moving.concatenation(net, [points, score], 1), (1, 1, POINTS, 3))
