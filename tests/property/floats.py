"""Turns random int8 networks into float32 networks with values of any size. All output values except NaNs are compared
bytewise, because IEEE 754 does not define the sign and the payload of a NaN.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from hypothesis import assume
from hypothesis import strategies as st
from numpy.typing import NDArray
from property.networks import Recipe, build, recipes
from property.oracle import Inputs, convert, original, rewritten, run

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model import writer
from tflm_memopt.model.reader import read

FLOAT = (
    "conv", "depthwise", "padded", "average", "max", "global", "mean", "transposed mean", "dense", "dense rows", "add",
    "residual", "bottleneck", "relu", "relu6", "softmax", "logistic", "tanh", "looked up", "two", "difference",
    "leaky", "gated", "averaged", "reshape", "attention", "computed shape", "concatenation", "heads", "split",
    "mirrored", "slice", "blocks", "transpose conv", "resize nearest", "stacked", "transposed", "picked", "masked",
    "selected", "log softmax", "reduce", "resize", "channels first", "normalized", "summed",
)  # fmt: skip
Floats = NDArray[np.float32]
WILD = (0.0, -0.0, 1e30, -1e30, 1e-40, -1e-40, 3e38, np.inf, -np.inf, np.nan, 1.4e-45)


def float_recipes() -> st.SearchStrategy[Recipe]:
    return recipes(sets=(FLOAT,)).map(lambda recipe: replace(recipe, outside="INT8"))


def drawn(rng: np.random.Generator, shape: Sequence[int], scale: float, share: float) -> Floats:
    plain = rng.normal(scale=scale, size=shape)
    return np.where(rng.random(shape) < share, rng.choice(WILD, shape), plain).astype(np.float32)


def in_float(data: bytes, seed: int, share: float = 0.0) -> bytes:
    tree, rng = schema.ModelT.InitFromPackedBuf(data, 0), np.random.default_rng(seed)
    (graph,) = tree.subgraphs
    codes = {value: name for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
    biases = set()
    for op in graph.operators:
        kind = codes[tree.operatorCodes[op.opcodeIndex].builtinCode]
        place = {"CONV_2D": 2, "DEPTHWISE_CONV_2D": 2, "FULLY_CONNECTED": 2, "TRANSPOSE_CONV": 3}.get(kind)
        biases |= {int(op.inputs[place])} if place is not None and len(op.inputs) > place else set()
    for number, tensor in enumerate(graph.tensors):
        if tensor.type != schema.TensorType.INT8 and number not in biases:
            continue
        tensor.type, tensor.quantization = schema.TensorType.FLOAT32, None
        if (stored := tree.buffers[tensor.buffer].data) is not None and len(stored):
            values = drawn(rng, [int(d) for d in tensor.shape], 0.4, share)
            tensor.buffer = writer.add_buffer(tree, values)
    return writer.write(tree)


def same_floats(a: NDArray[Any], b: NDArray[Any], said: str) -> None:
    nan = np.isnan(a) & np.isnan(b)
    np.testing.assert_array_equal(np.where(nan, 0, a.view(np.int32)), np.where(nan, 0, b.view(np.int32)), said)


def inputs_of(data: bytes, seed: int) -> list[Inputs]:
    rng, graph = np.random.default_rng(seed), read(data).graph
    shapes = [graph.tensors[t].shape for t in graph.inputs]
    return [
        [drawn(rng, shape, scale, share) for shape in shapes]
        for scale, share in ((1, 0), (1, 0), (1e30, 0), (1e-38, 0), (1, 0.05), (1, 0.5))
    ]


def examine_float(recipe: Recipe, options: ConversionOptions | None = None) -> bool:
    """Check the outputs of a rewritten float32 network, and return whether the converter rewrote the network."""
    data = in_float(build(recipe), recipe.seed, 0.05 if recipe.seed % 3 == 0 else 0.0)
    try:
        before = original(data)
    except RuntimeError:
        assume(False)
    made = convert(data, options or ConversionOptions(seconds=0))
    if made is None:
        return False
    after, outputs = rewritten(made[0]), len(read(data).graph.outputs)
    for number, inputs in enumerate(inputs_of(data, recipe.seed)):
        for k, (x, y) in enumerate(zip(run(before, inputs, outputs), run(after, inputs, outputs), strict=True)):
            same_floats(x, y, f"seed {recipe.seed}, inputs {number}, output {k}")
    return True
