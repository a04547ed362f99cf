"""GATHER from a constant table, and reductions of GATHER's output, have the same output bytes as in TFLM."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import thinned
from models import Net
from moving import reduce
from numpy.typing import NDArray
from poses import two

import tflm_memopt
from tflm_memopt.errors import ModelError
from tflm_memopt.model.reader import read
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rewrite.canonicalise import canonicalise
from tflm_memopt.rowgraph.supported import to_row_ops
from tflm_memopt.runtime import host
from tflm_memopt.runtime.regions import regions
from tflm_memopt.tflm.arena import predict


def text_model(length: int, rows: int, width: int, reduction: str = "mean", seed: int = 0) -> bytes:
    net = Net(seed)
    x = net.gather(net.input((1, length), None, dtype="INT32"), rows, width)
    out = (net.affine(x)[0] * length**0.5, 3) if reduction == "sum" else None
    y = reduce(net, "SUM", x, [1], keep=False, out=out) if reduction == "sum" else net.mean(x, [1], keep=False)
    return net.model(net.softmax(net.fully_connected(y, 4)))


def assert_rewritten(data: bytes) -> bytes:
    result = tflm_memopt.optimize(data)
    assert result.report.changed
    graph = canonicalise(read(data).graph)
    support = to_row_ops(graph)
    assert all(isinstance(support[op.index], RowOp) for op in graph.ops if op.type in ("GATHER", "MEAN", "SUM"))
    verification = tflm_memopt.verify(data, result.model, runs=4)
    assert verification.bit_exact, verification
    assert verification.guarded
    return result.model


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_embedded_sequence_is_never_whole(reduction: str) -> None:
    rewritten = assert_rewritten(text_model(64, 50, 24, reduction))
    assert predict(rewritten).head < 64 * 4 + 64 * 24 // 4


def test_an_embedding_of_keras_3() -> None:
    net, rows, shape = Net(), 9, (1, 12)
    x = net.input(shape, None, dtype="INT32")
    zero, count = (net.tensor((), "INT32", None, data=np.int32(n)) for n in (0, rows))
    operands = [two(net, "LESS", x, zero, "BOOL"), two(net, "ADD", x, count), x]
    indices = net.op("SELECT", operands, [net.tensor(shape, "INT32", None)], schema.SelectOptionsT())
    assert_rewritten(net.model(net.fully_connected(net.mean(net.gather(indices, rows, 5), [1], keep=False), 3)))


@pytest.mark.parametrize("index", thinned([50, -1, 1 << 30, -(1 << 31)], 2))
def test_an_index_outside_of_the_table_ends_the_run(index: int) -> None:
    data = text_model(6, 50, 4)
    ids: NDArray[np.int32] = np.array([[0, 49, 3, index, 1, 2]], np.int32)
    with pytest.raises(ModelError, match="failed to invoke"):
        tflm_memopt.verify(data, data, inputs=[ids])
    (program,) = (region.program for region in regions(read(tflm_memopt.optimize(data).model)))
    with pytest.raises(ModelError, match="outside of its table"):
        host.run(program, [ids], [4])
