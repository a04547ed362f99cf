"""Draws random networks with permuted or unread inputs, with repeated or constant outputs, and with odd zero points."""

import random
from typing import Any

import numpy as np
from property.forced import mobile
from property.layers import INT16, KINDS, MOVING, SUPPORTED
from property.layers.layer import random_layer
from property.networks import Recipe, build

from tflm_memopt.model import writer
from tflm_memopt.model.reader import TENSOR_TYPES, read

UNREAD = ("INT8", "UINT8", "INT16", "INT32", "INT64", "FLOAT32", "BOOL")
CONSTANT = ("INT8", "UINT8", "INT16", "INT32", "INT64", "FLOAT32")
MOVING_BYTES = (
    "RESHAPE", "TRANSPOSE", "PAD", "SLICE", "STRIDED_SLICE", "SPLIT", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND",
)  # fmt: skip
"""Operators whose TFLM kernels ignore the zero points of the inputs."""
KIND_SETS = (
    tuple(SUPPORTED),
    tuple(SUPPORTED),
    ("conv", "depthwise", "residual", "padded", *MOVING),
    ("conv", "conv", "depthwise", "residual", "bottleneck", "add", "max", "relu", "mean", "global", "int4"),
    ("conv", "int4", "dense", "two", "add", "concatenation"),
    INT16,
    tuple(KINDS),
)


def network(rng: random.Random) -> Recipe:
    if rng.random() < 0.2:
        return mobile(rng.getrandbits(32), most=3)
    kinds = rng.choice(KIND_SETS)
    shapes = [_shape(rng) for _ in range(rng.choice((1, 1, 1, 2, 2, 2, 3, 4)))]
    if rng.random() < 0.5:
        shapes = [shapes[0]] * len(shapes)
    outside = "INT8" if kinds is INT16 else rng.choice(("INT8", "INT8", "INT8", "FLOAT32", "UINT8"))
    return Recipe(
        inputs=tuple(shapes),
        layers=tuple(random_layer(rng, kinds) for _ in range(rng.randint(1, 8))),
        extra=tuple(rng.randrange(9) for _ in range(rng.choice((0, 0, 1, 2, 3)))),
        seed=rng.getrandbits(16),
        outside=outside,
        inside="INT16" if kinds is INT16 else "INT8",
        unwanted=rng.choice((0, 0, 0, 1, 2)),
        unused=rng.choice((0, 0, 3)),
    )


def _shape(rng: random.Random) -> tuple[int, ...]:
    if rng.random() < 0.1:
        return 1, rng.randint(1, 9), rng.randint(1, 5)
    return 1, rng.choice((rng.randint(1, 14), rng.randint(15, 40))), rng.randint(1, 8), rng.randint(1, 5)


def ported(rng: random.Random) -> bytes:
    data = build(network(rng))
    return with_ports(with_zero_points(data, rng) if rng.random() < 0.2 else data, rng)


def with_zero_points(data: bytes, rng: random.Random) -> bytes:
    """Change the zero points of some int8 tensors whose values TFLM only copies from other tensors."""
    model = read(data)
    tree = writer.edit(model)
    for op in model.graph.ops:
        for t in op.outputs if op.type in MOVING_BYTES and rng.random() < 0.6 else ():
            tensor = tree.subgraphs[0].tensors[t]
            if model.graph.tensors[t].dtype == "INT8" and tensor.quantization is not None:
                tensor.quantization.zeroPoint = np.array([rng.randint(-128, 127)], np.int64)
    return writer.write(tree)


def with_ports(data: bytes, rng: random.Random) -> bytes:
    tree = writer.edit(read(data))
    graph = tree.subgraphs[0]
    inputs, outputs = [int(t) for t in graph.inputs], [int(t) for t in graph.outputs]
    if len(inputs) == 1 and rng.random() < 0.6:
        return _written(tree, inputs, outputs if rng.random() < 0.5 else _outputs(tree, [], outputs, rng))
    inputs += [_tensor(tree, rng, "unread", rng.choice(UNREAD)) for _ in range(rng.choice((0, 0, 1, 2)))]
    rng.shuffle(inputs)
    return _written(tree, inputs, _outputs(tree, inputs, outputs, rng))


def _written(tree: Any, inputs: list[int], outputs: list[int]) -> bytes:
    tree.subgraphs[0].inputs, tree.subgraphs[0].outputs = np.array(inputs, np.int32), np.array(outputs, np.int32)
    return writer.write(tree)


def _outputs(tree: Any, inputs: list[int], outputs: list[int], rng: random.Random) -> list[int]:
    more = list(outputs)
    if outputs and rng.random() < 0.3:
        more.append(rng.choice(outputs))
    if inputs and rng.random() < 0.15:
        more.append(rng.choice(inputs))
    if rng.random() < 0.25:
        more += [_constant(tree, rng) for _ in range(rng.randint(1, 2))]
    rng.shuffle(more)
    return more


def _constant(tree: Any, rng: random.Random) -> int:
    dtype = rng.choice(CONSTANT)
    shape = _small(rng)
    values = np.random.default_rng(rng.getrandbits(32)).integers(0, 100, shape).astype(dtype.lower())
    return int(_tensor(tree, rng, "constant", dtype, shape, writer.add_buffer(tree, values)))


def _tensor(tree: Any, rng: random.Random, name: str, dtype: str, shape: tuple[int, ...] = (), buffer: int = 0) -> int:
    number = len(tree.subgraphs[0].tensors)
    scale, zero = ((0.25,), (0,)) if dtype in ("INT8", "UINT8", "INT16") else ((), ())
    return writer.add_tensor(
        tree, f"{name}{number}", shape or _small(rng), dtype, buffer=buffer, scale=scale, zero_point=zero
    )


def _small(rng: random.Random) -> tuple[int, ...]:
    return (1, *(rng.randint(1, 6) for _ in range(rng.randint(1, 3))))


def ports_of(data: bytes) -> str:
    tree = read(data).tree
    graph = tree.subgraphs[0]

    def told(tensors: Any) -> str:
        each = (f"{t} {TENSOR_TYPES[graph.tensors[t].type].lower()} {list(graph.tensors[t].shape)}" for t in tensors)
        return ", ".join(each)

    return f"inputs {told(graph.inputs)}; outputs {told(graph.outputs)}"
