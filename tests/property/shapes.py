"""Rewrites random networks with batches, free dimensions or wrong shapes, and compares outputs."""

import random
from collections.abc import Sequence

import numpy as np
from models import Net
from moving import batch_to_space, concatenation, pack, slice_, space_to_batch, space_to_depth, split, unpack
from property.layers import KINDS
from property.layers.layer import random_layer
from property.oracle import ARENA, assert_same_bytes, original

import tflm_memopt
from tflm_memopt.errors import ModelError
from tflm_memopt.model import writer
from tflm_memopt.model.reader import read
from tflm_memopt.tflm.refused import refusals

CONSISTENT = 0.5
SMALL = 4096
WRONG = "the file has a wrong shape"


def network(seed: int) -> bytes:
    rng, net = random.Random(seed), Net(seed)
    x = net.input((rng.choice((1, 1, 1, 2, 3)), rng.randint(2, 12), rng.randint(1, 10), rng.choice((1, 2, 4, 6))))
    for _ in range(rng.randint(1, 6)):
        x = _layer(net, x, rng)
    ends = {1: x, 2: net.conv2d(x, 3) if len(net.shape(x)) == 4 else x}
    data = net.finished(ends[rng.choice((1, 2))])
    for tensor in net.graph.tensors:
        if tensor.buffer == 0 and len(tensor.shape) and rng.random() < 0.5:
            signature = [int(d) for d in tensor.shape]
            signature[rng.choice((0, 0, 0, len(signature) - 1))] = -1
            tensor.shapeSignature = np.array(signature, np.int32)
    return writer.write(data)


def _layer(net: Net, x: int, rng: random.Random) -> int:
    shape = net.shape(x)
    if len(shape) != 4:
        return net.reshape(x, (1,) * (4 - len(shape)) + shape) if len(shape) < 4 else x
    kinds = [
        "dilated", "blocks", "conv", "depthwise", "pool", "softmax", "batches", "joined", "pieces", "part", "mean",
        "grouped", "space", "turned",
    ]  # fmt: skip
    if shape[0] == 1:
        kinds += ["dilated"] * 3 + ["any"] * 6
    match rng.choice(kinds):
        case "dilated" | "blocks" as kind:
            return _dilated(net, x, rng, convolve=kind == "dilated")
        case "conv":
            return net.conv2d(x, rng.choice((2, 4)), kernel=(rng.randint(1, 3), rng.randint(1, 3)))
        case "depthwise":
            return net.depthwise_conv2d(x, stride=rng.choice(((1, 1), (2, 1))))
        case "grouped":
            groups = shape[3] // 2 if shape[3] % 2 == 0 and rng.random() < 0.5 else shape[3]
            return net.conv2d(x, 2 * shape[3], kernel=(rng.randint(1, 3), 1), groups=groups)
        case "space":
            return space_to_depth(net, x, 2) if shape[1] % 2 == shape[2] % 2 == 0 else x
        case "turned":
            return net.transpose(x, rng.choice(((0, 2, 1, 3), (0, 3, 1, 2), (1, 0, 2, 3))))
        case "pool":
            return net.pool(x, kernel=(2, 2), padding="SAME")
        case "softmax":
            return net.softmax(x)
        case "batches":
            return net.reshape(x, (shape[0] * shape[1], 1, *shape[2:]))
        case "joined":
            return concatenation(net, [x, net.unary("RELU", x, out=net.affine(x))], rng.randrange(4))
        case "pieces":
            pieces = unpack(net, x, 0) if shape[0] < 9 else [x]
            return pack(net, pieces[::-1], 0) if len(net.shape(pieces[0])) == 3 else pieces[0]
        case "part":
            halves = split(net, x, 0, shape[0]) if shape[0] in (2, 3) else [slice_(net, x, (0,) * 4, shape)]
            return halves[-1]
        case "mean":
            return net.mean(x, rng.choice(((0,), (1, 2), (3,))), keep=rng.random() < 0.7)
    layer = random_layer(rng, sorted(KINDS), dilation=(1, 1))
    made = KINDS[layer.kind](net, layer, x, x)
    return made[-1] if np.prod(net.shape(made[-1])) <= SMALL and net.dtype(made[-1]) == "INT8" else x


def _dilated(net: Net, x: int, rng: random.Random, *, convolve: bool) -> int:
    _, h, w, _ = net.shape(x)
    blocks = rng.choice(((2, 2), (2, 1), (1, 2), (3, 1)))
    kernel = rng.randint(1, 2), rng.randint(1, 2)
    pads = [(b * (k - 1), -(d + b * (k - 1)) % b) for d, b, k in zip((h, w), blocks, kernel, strict=True)]
    if rng.random() < 0.8:
        x, pads = net.pad(x, [(0, 0), *pads, (0, 0)]), [(0, 0), (0, 0)]
    y = space_to_batch(net, x, blocks, pads)
    if convolve and rng.random() < 0.5:
        y = net.conv2d(y, rng.choice((2, 4)), kernel=kernel, padding="VALID")
    elif convolve:
        y = net.depthwise_conv2d(y, kernel=kernel, padding="VALID")
    _, high, wide, _ = net.shape(y)
    crops = [(0, max(0, d * b - size)) for d, b, size in zip((high, wide), blocks, (h, w), strict=True)]
    return batch_to_space(net, y, blocks, crops)


def with_wrong_shapes(data: bytes, rng: random.Random) -> bytes:
    model = read(data)
    tree = writer.edit(model)
    made = [t for op in model.graph.ops for t in op.outputs]
    for tensor in rng.sample(made, min(len(made), rng.choice((1, 1, 1, 2, 3)))):
        shape = model.graph.tensors[tensor].shape
        without_batch = (1, *shape[1:])
        wrong = without_batch if rng.random() < 0.4 else rng.choice(_others(shape, rng))
        tree.subgraphs[0].tensors[tensor].shape = np.array(wrong, np.int32)
    return writer.write(tree)


def _others(shape: Sequence[int], rng: random.Random) -> list[tuple[int, ...]]:
    axis = rng.randrange(len(shape)) if shape else 0
    before, after = tuple(shape[:axis]), tuple(shape[axis + 1 :])
    sizes = {1, shape[axis] + 1, max(1, shape[axis] - 1), 2 * shape[axis]} if shape else set()
    changed = [(*before, size, *after) for size in sorted(sizes)]
    return [*changed, tuple(shape[::-1]), (1, *shape), tuple(shape[1:]), (int(np.prod(shape)),)]


def examine(seed: int) -> bool:
    rng, data = random.Random(seed), network(seed)
    consistent = rng.random() < CONSISTENT
    if not consistent:
        data = with_wrong_shapes(data, rng)
    ops = rng.choice(("region", "region", "builtin"))
    try:
        done = tflm_memopt.optimize(data, ops=ops, effort=0.05, seconds=0.05)
    except ModelError:
        if refusals(read(data)):
            return False
        raise
    assert not (consistent and WRONG in done.report.why_unchanged), done.report.why_unchanged
    if done.report.changed:
        fill_free_memory(seed)
        before = original(data)
        fill_free_memory(seed + 1)
        assert_same_bytes(data, done.model, seed=seed, before=before)
    return done.report.changed


def fill_free_memory(seed: int) -> None:
    """Fill free memory with random values, so that kernels that read uninitialised memory give other bytes than
    before.
    """
    blocks = [np.random.default_rng(seed + k).integers(0, 256, ARENA + 64, np.uint8) for k in range(4)]
    del blocks
