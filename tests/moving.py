"""Each function adds an operator that moves, resizes or reduces tensors, and returns the output tensor's index."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from models import Affine, Net, Pair


def constant(net: Net, values: Any) -> int:
    data = np.asarray(values, np.int32)
    return net.tensor(data.shape, "INT32", None, data=data)


def like(net: Net, x: int, shape: Sequence[int]) -> int:
    return net.tensor(tuple(int(d) for d in shape), net.dtype(x), net.affine(x))


def mirror_pad(net: Net, x: int, amounts: Sequence[Pair], *, reflect: bool) -> int:
    y = like(net, x, [d + a + b for d, (a, b) in zip(net.shape(x), amounts, strict=True)])
    return net.op("MIRROR_PAD", [x, constant(net, amounts)], [y], schema.MirrorPadOptionsT(mode=0 if reflect else 1))


def concatenation(net: Net, xs: Sequence[int], axis: int) -> int:
    shape = list(net.shape(xs[0]))
    shape[axis] = sum(net.shape(x)[axis] for x in xs)
    y = like(net, xs[0], shape)
    return net.op("CONCATENATION", xs, [y], schema.ConcatenationOptionsT(axis=axis))


def integers(net: Net, shape: Sequence[int]) -> int:
    return net.tensor(shape, "INT32", None)


def computed_shape(net: Net, x: int, shape: Sequence[int], *, form: int = 0) -> int:
    """Add operators that compute the operand `shape` of a RESHAPE, as converters do for an unknown batch size. With
    `form` 0, PACK makes the shape from the batch size and constants. With `form` 1, CONCATENATION makes the shape. With
    `form` 2, PACK makes the shape, whose last dimension is multiplied by the batch size.
    """
    rank, first = len(net.shape(x)), schema.StridedSliceOptionsT(shrinkAxisMask=1)
    whole = net.op("SHAPE", [x], [integers(net, (rank,))], schema.ShapeOptionsT(outType=schema.TensorType.INT32))
    if form == 1:
        batch = net.op("SLICE", [whole, constant(net, [0]), constant(net, [1])], [integers(net, (1,))])
        joined = [batch, constant(net, shape[1:])]
        return net.op("CONCATENATION", joined, [integers(net, (len(shape),))], schema.ConcatenationOptionsT(axis=0))
    operands = [whole, constant(net, [0]), constant(net, [1]), constant(net, [1])]
    batch = net.op("STRIDED_SLICE", operands, [integers(net, ())], first)
    last = constant(net, shape[-1])
    if form == 2:
        last = net.op("MUL", [batch, last], [integers(net, ())], schema.MulOptionsT())
    packed = [batch, *(constant(net, d) for d in shape[1:-1]), last]
    return net.op("PACK", packed, [integers(net, (len(shape),))], schema.PackOptionsT(valuesCount=len(shape), axis=0))


def reshape_by(net: Net, x: int, target: int, shape: Sequence[int]) -> int:
    """Add a RESHAPE. The tensor `target` holds the output's shape at run time, and `shape` is the output's shape in the
    model file.
    """
    y = net.tensor(shape, net.dtype(x), net.affine(x))
    return net.op("RESHAPE", [x, target], [y], schema.ReshapeOptionsT())


def split(net: Net, x: int, axis: int, count: int) -> list[int]:
    shape = list(net.shape(x))
    shape[axis] //= count
    parts = [like(net, x, shape) for _ in range(count)]
    net.op("SPLIT", [constant(net, axis), x], parts, schema.SplitOptionsT(numSplits=count))
    return parts


def split_v(net: Net, x: int, axis: int, sizes: Sequence[int]) -> list[int]:
    parts = []
    for size in sizes:
        shape = list(net.shape(x))
        shape[axis] = size
        parts.append(like(net, x, shape))
    operands = [x, constant(net, sizes), constant(net, axis)]
    net.op("SPLIT_V", operands, parts, schema.SplitVOptionsT(numSplits=len(sizes)))
    return parts


def unpack(net: Net, x: int, axis: int) -> list[int]:
    shape = [d for a, d in enumerate(net.shape(x)) if a != axis % len(net.shape(x))]
    parts = [like(net, x, shape) for _ in range(net.shape(x)[axis])]
    net.op("UNPACK", [x], parts, schema.UnpackOptionsT(num=len(parts), axis=axis))
    return parts


def pack(net: Net, xs: Sequence[int], axis: int) -> int:
    shape = list(net.shape(xs[0]))
    shape.insert(axis, len(xs))
    y = like(net, xs[0], shape)
    return net.op("PACK", xs, [y], schema.PackOptionsT(valuesCount=len(xs), axis=axis))


def slice_(net: Net, x: int, begin: Sequence[int], size: Sequence[int]) -> int:
    shape = [d - b if s < 0 else s for d, b, s in zip(net.shape(x), begin, size, strict=True)]
    operands = [x, constant(net, begin), constant(net, size)]
    return net.op("SLICE", operands, [like(net, x, shape)], schema.SliceOptionsT())


def strided_slice(
    net: Net, x: int, slices: Sequence[slice], *, shrink: Sequence[int] = (), begin_mask: int = 0, end_mask: int = 0
) -> int:
    """Add a STRIDED_SLICE that selects the same elements as Python slices, and removes the axes in `shrink` from the
    output.
    """
    begin = [0 if s.start is None else s.start for s in slices]
    end = [0 if s.stop is None else s.stop for s in slices]
    strides = [1 if s.step is None else s.step for s in slices]
    begin_mask |= sum(1 << a for a, s in enumerate(slices) if s.start is None)
    end_mask |= sum(1 << a for a, s in enumerate(slices) if s.stop is None)
    shape = [len(range(*s.indices(d))) for s, d in zip(slices, net.shape(x), strict=True)]
    y = like(net, x, [d for a, d in enumerate(shape) if a not in shrink])
    options = schema.StridedSliceOptionsT(
        beginMask=begin_mask, endMask=end_mask, shrinkAxisMask=sum(1 << a for a in shrink)
    )
    return net.op("STRIDED_SLICE", [x, *(constant(net, v) for v in (begin, end, strides))], [y], options)


def depth_to_space(net: Net, x: int, block: int) -> int:
    n, h, w, c = net.shape(x)
    y = like(net, x, (n, h * block, w * block, c // block**2))
    return net.op("DEPTH_TO_SPACE", [x], [y], schema.DepthToSpaceOptionsT(blockSize=block))


def space_to_depth(net: Net, x: int, block: int) -> int:
    n, h, w, c = net.shape(x)
    y = like(net, x, (n, h // block, w // block, c * block**2))
    return net.op("SPACE_TO_DEPTH", [x], [y], schema.SpaceToDepthOptionsT(blockSize=block))


def space_to_batch(net: Net, x: int, blocks: Pair, pads: Sequence[Pair]) -> int:
    n, *image, c = net.shape(x)
    size = [(d + sum(pad)) // b for d, b, pad in zip(image, blocks, pads, strict=True)]
    operands = [x, constant(net, blocks), constant(net, pads)]
    return net.op("SPACE_TO_BATCH_ND", operands, [like(net, x, (n * math.prod(blocks), *size, c))])


def batch_to_space(net: Net, x: int, blocks: Pair, crops: Sequence[Pair]) -> int:
    n, *image, c = net.shape(x)
    size = [d * b - sum(crop) for d, b, crop in zip(image, blocks, crops, strict=True)]
    operands = [x, constant(net, blocks), constant(net, crops)]
    return net.op("BATCH_TO_SPACE_ND", operands, [like(net, x, (n // math.prod(blocks), *size, c))])


def broadcast_to(net: Net, x: int, shape: Sequence[int]) -> int:
    return net.op("BROADCAST_TO", [x, constant(net, shape)], [like(net, x, shape)], schema.BroadcastToOptionsT())


def tile(net: Net, x: int, multiples: Sequence[int]) -> int:
    y = like(net, x, [d * m for d, m in zip(net.shape(x), multiples, strict=True)])
    return net.op("TILE", [x, constant(net, multiples)], [y], schema.TileOptionsT())


def reverse(net: Net, x: int, axes: Sequence[int]) -> int:
    return net.op("REVERSE_V2", [x, constant(net, axes)], [like(net, x, net.shape(x))], schema.ReverseV2OptionsT())


def upsampling(net: Net, x: int, size: Pair) -> int:
    """Add the operators of Keras 3 for UpSampling2D: RESHAPE and TILE first repeat each row, then each column."""
    (n, h, w, c), (down, right) = net.shape(x), size
    y = tile(net, net.reshape(x, (n, h, 1, w, c)), (1, 1, down, 1, 1))
    y = tile(net, net.reshape(y, (n, h * down, w, 1, c)), (1, 1, 1, right, 1))
    return net.reshape(y, (n, h * down, w * right, c))


def resize(net: Net, x: int, size: Pair, *, bilinear: bool = False, corners: bool = False, half: bool = False) -> int:
    n, _, _, c = net.shape(x)
    y = like(net, x, (n, *size, c))
    if bilinear:
        options = schema.ResizeBilinearOptionsT(alignCorners=corners, halfPixelCenters=half)
        return net.op("RESIZE_BILINEAR", [x, constant(net, size)], [y], options)
    nearest = schema.ResizeNearestNeighborOptionsT(alignCorners=corners, halfPixelCenters=half)
    return net.op("RESIZE_NEAREST_NEIGHBOR", [x, constant(net, size)], [y], nearest)


def reduce(net: Net, kind: str, x: int, axes: Sequence[int], *, keep: bool = True, out: Affine | None = None) -> int:
    rank = len(net.shape(x))
    gone = {a % rank for a in axes}
    shape = [1 if a in gone else d for a, d in enumerate(net.shape(x)) if keep or a not in gone]
    y = net.tensor(shape, net.dtype(x), out or net.affine(x))
    return net.op(kind, [x, constant(net, list(axes))], [y], schema.ReducerOptionsT(keepDims=keep))


def arg_max(net: Net, x: int, *, axis: int = -1, smallest: bool = False) -> int:
    shape = [d for a, d in enumerate(net.shape(x)) if a != axis % len(net.shape(x))]
    options = (schema.ArgMinOptionsT if smallest else schema.ArgMaxOptionsT)(outputType=schema.TensorType.INT32)
    return net.op("ARG_MIN" if smallest else "ARG_MAX", [x, constant(net, [axis])], [integers(net, shape)], options)


def log_softmax(net: Net, x: int) -> int:
    return net.op("LOG_SOFTMAX", [x], [net.tensor(net.shape(x), affine=(1 / 16, 127))], schema.LogSoftmaxOptionsT())


def transpose_conv(
    net: Net, x: int, channels: int, *, kernel: Pair, stride: Pair, padding: str = "SAME", extra: Pair = (0, 0),
    per_channel: bool = True, bias: bool = True, activation: str = "NONE",
) -> int:  # fmt: skip
    """The argument `extra` is the number of rows and columns beyond the smallest possible output."""
    n, h, w, c = net.shape(x)
    valid = padding == "VALID"
    size = [(d - 1) * s + k + e if valid else d * s - min(e, s - 1)
            for d, k, s, e in zip((h, w), kernel, stride, extra, strict=True)]  # fmt: skip
    scales = net.rng.uniform(0.002, 0.02, channels if per_channel else 1).astype(np.float32)
    weights = net.rng.integers(-127, 128, (channels, *kernel, c))
    filter_ = net.tensor(weights.shape, data=weights, scales=scales.tolist(), axis=0)
    product = np.float32(net.affine(x)[0]) * scales
    spread = float(product.mean()) * 73 * 73 * math.sqrt(math.prod(kernel) * c / math.prod(stride) + 1)
    wide, zero_point = net.dtype(x) == "INT16", int(net.rng.integers(-20, 20))
    y = net.tensor((n, *size, channels), net.dtype(x), (spread / (1 if wide else 50), 0 if wide else zero_point))
    operands = [constant(net, [n, *size, channels]), filter_, x]
    if bias:
        data = net.rng.integers(-3000, 3000, channels)
        dtype = "INT64" if wide else "INT32"
        operands.append(net.tensor((channels,), dtype, None, data=data, scales=product.tolist()))
    options = schema.TransposeConvOptionsT(
        padding=getattr(schema.Padding, padding), strideH=stride[0], strideW=stride[1],
        fusedActivationFunction=getattr(schema.ActivationFunctionType, activation),
    )  # fmt: skip
    return net.op("TRANSPOSE_CONV", operands, [y], options)
