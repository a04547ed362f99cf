"""The NumPy interpreter of descriptions, the reference for generated C, gives TFLM's bytes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from models import Net
from moving import transpose_conv
from numpy.typing import NDArray

sys.path.insert(0, str(ROOT / "benchmarks"))
from bound import bound_of
from papers.vmcu.dense import dense

from tflm_memopt.kernels.meaning import run
from tflm_memopt.model.reader import read
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rewrite.canonicalise import canonicalise
from tflm_memopt.rowgraph.supported import to_row_ops
from tflm_memopt.runtime.process import run_model

pytestmark = pytest.mark.slow
Build = Callable[[Net], int]
IMAGE = (1, 7, 6, 5)
MODELS: dict[str, Build] = {
    "conv": lambda net: net.conv2d(net.input(IMAGE), 9, kernel=(3, 3), stride=(2, 1)),
    "conv, valid": lambda net: net.conv2d(net.input(IMAGE), 4, kernel=(2, 3), padding="VALID", activation="RELU6"),
    "conv, dilated": lambda net: net.conv2d(net.input(IMAGE), 3, kernel=(3, 2), dilation=(2, 2)),
    "depthwise": lambda net: net.depthwise_conv2d(net.input(IMAGE), kernel=(3, 3), stride=(1, 2)),
    "dense": lambda net: net.fully_connected(net.input((1, 33)), 17),
    "dense, a scale each": lambda net: net.fully_connected(net.input((1, 33)), 17, per_channel=True),
    "max pool": lambda net: net.pool(net.input(IMAGE), kind="MAX_POOL_2D", kernel=(3, 2), stride=(2, 2)),
    "average pool": lambda net: net.pool(net.input(IMAGE), kind="AVERAGE_POOL_2D", kernel=(3, 2), stride=(2, 2)),
    "mean": lambda net: net.mean(net.input(IMAGE), (1, 2), out=(0.021, -3)),
    "max pool of int16": lambda net: net.pool(net.input(IMAGE, dtype="INT16"), kind="MAX_POOL_2D", kernel=(3, 2)),
    "average pool of int16": lambda net: net.pool(net.input(IMAGE, dtype="INT16"), kernel=(3, 2), padding="SAME"),
    "mean of int16": lambda net: net.mean(net.input(IMAGE, dtype="INT16"), (1, 2), out=(0.021, 0)),
    "softmax": lambda net: net.softmax(net.input((1, 40))),
    "softmax, rows": lambda net: net.softmax(net.input((1, 3, 4, 9), (0.4, 5)), beta=0.7),
    "softmax of int16": lambda net: net.softmax(net.input((1, 3, 4, 9), (0.0004, 0), dtype="INT16"), beta=0.7),
    "logistic of int16": lambda net: net.unary(
        "LOGISTIC", net.input(IMAGE, (0.0004, 0), dtype="INT16"), dtype="INT16", out=(2.0**-15, 0)
    ),
    "tanh of int16": lambda net: net.unary(
        "TANH", net.input(IMAGE, (2.0**-11, 0), dtype="INT16"), dtype="INT16", out=(2.0**-15, 0)
    ),
    "matrices of int16": lambda net: net.batch_matmul(
        net.input((1, 5, 7), dtype="INT16"), net.input((1, 7, 4), dtype="INT16"), adjoint=False, out=(2.0, 0)
    ),
    "lookup": lambda net: net.unary("TANH", net.input(IMAGE)),
    "transposed conv": lambda net: transpose_conv(net, net.input(IMAGE), 4, kernel=(3, 3), stride=(2, 2)),
    "transposed conv, gaps": lambda net: transpose_conv(
        net, net.input(IMAGE), 3, kernel=(2, 4), stride=(3, 2), padding="VALID"
    ),
    "matrices": lambda net: net.batch_matmul(net.input((1, 5, 7)), net.input((1, 7, 4)), adjoint=False, out=(0.02, 3)),
    "matrices, transposed": lambda net: net.batch_matmul(
        net.input((1, 5, 7)), net.input((1, 4, 7), (0.07, 11)), adjoint=True, out=(0.02, 3)
    ),
    "gather": lambda net: net.gather(net.input((1, 9), None, dtype="INT32"), 7, 5),
    "quantize": lambda net: net.unary("QUANTIZE", net.input(IMAGE, None, dtype="FLOAT32"), out=(0.02, 3)),
    "dequantize": lambda net: net.unary("DEQUANTIZE", net.input(IMAGE), dtype="FLOAT32", out=None),
    "add": lambda net: net.add(net.input(IMAGE), net.input(IMAGE, (0.07, 11))),
}
DRAWN: dict[str, Callable[[np.random.Generator, tuple[int, ...]], NDArray[Any]]] = {
    "INT8": lambda rng, shape: rng.integers(-128, 128, shape, dtype=np.int8),
    "INT16": lambda rng, shape: rng.integers(-32768, 32768, shape, dtype=np.int16),
    "INT32": lambda rng, shape: rng.integers(0, 7, shape, dtype=np.int32),
    "FLOAT32": lambda rng, shape: rng.normal(0, 2, shape).astype(np.float32),
}
"""Values by input type; indices refer to a table of 7 rows."""


@pytest.mark.parametrize("name", MODELS)
def test_it_has_the_bytes_of_tflm(name: str) -> None:
    for seed in range(3):
        net = Net(seed)
        model = net.model(MODELS[name](net))
        graph = canonicalise(read(model).graph).graph
        (op,) = to_row_ops(graph).values()
        assert isinstance(op, RowOp)
        rng = np.random.default_rng(seed)
        inputs = [DRAWN[graph.tensors[t].dtype](rng, graph.tensors[t].shape) for t in graph.inputs]
        expected = run_model(model, [x[None] for x in inputs], 1, 1).outputs[0].reshape(-1)
        bound = bound_of(op)
        assert bound
        values, arrays = bound.give(op)
        given = dict(zip(bound.inputs, inputs, strict=True))
        assert np.array_equal(run(bound.kernel, values, {**arrays, **given})["y"], expected), f"seed {seed}"
        if name.startswith("dense"):
            as_dense = values | {"rows": 1, "depth": values["channels"], "units": values["filters"]}
            assert np.array_equal(run(dense, as_dense, {**arrays, **given})["y"], expected), f"seed {seed}"
        assert len(set(expected.tolist())) > 1
