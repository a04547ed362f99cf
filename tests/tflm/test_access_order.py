"""The table of access orders (tflm/access_order.py) agrees with TFLM's reference kernels in the official wheel.

The output overlaps the input at the smallest allowed distance, and then at a distance that is one pixel too small.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tflite_micro import runtime
from tflm.order_cases import ITEM, cases

from tflm_memopt.model import writer
from tflm_memopt.model.names import OFFLINE_PLAN
from tflm_memopt.plan.iteration.liveness import constraints, kernel_ranges
from tflm_memopt.rowgraph.graph import AccessOrder
from tflm_memopt.tflm.access_order import REFERENCE, orders

RUNS = 5


def distance(order: AccessOrder) -> int:
    sizes = {0: len(order.last_read), 1: len(order.written)}
    return constraints(list(kernel_ranges({0: order}, 1, 0, sizes)))[1, 0]


@pytest.mark.slow
def test_one_pixel_more_than_proved_is_wrong() -> None:
    for case in cases():
        net, x, y = case.model()
        order = orders(REFERENCE, *case.node())[0]()
        least = distance(order)
        # QUANTIZE rounds its float32 input, so overwriting the low bytes of a value need not change the output.
        nearer = least - (case.pixel if case.op != "QUANTIZE" else ITEM[case.read] * case.shape[3])
        if not loses(order, nearer):
            nearer = least - case.pixel // case.output[-1]
        inputs = [draw(net, t) for t in net.graph.inputs]
        far = run(net, x, y, 4096, inputs)
        assert all((a == b).all() for a, b in zip(run(net, x, y, least, inputs), far, strict=True)), case
        assert any((a != b).any() for a, b in zip(run(net, x, y, nearer, inputs), far, strict=True)), case


def loses(order: AccessOrder, apart: int) -> bool:
    at = np.arange(len(order.written)) - apart
    shared = (at >= 0) & (at < len(order.last_read))
    return bool((order.last_read[at[shared]] > order.written[shared]).any())


def draw(net: Any, tensor: int) -> NDArray[Any]:
    shape, affine, rng = (RUNS, *net.shape(tensor)), net.graph.tensors[tensor].quantization, net.rng
    if affine is None or affine.scale is None:
        return rng.normal(size=shape).astype(np.float32)
    dtype = np.int16 if net.dtype(tensor) == "INT16" else np.int8
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def run(net: Any, x: int, y: int, apart: int, inputs: list[NDArray[Any]]) -> list[NDArray[Any]]:
    offsets = {x: max(0, apart), y: max(0, -apart)}
    offsets |= {t: 8192 for t in net.graph.inputs if t != x}
    table = [1, 1, len(net.graph.tensors), *(offsets.get(t, -1) for t in range(len(net.graph.tensors)))]
    tree = net.finished(y)
    writer.set_metadata(tree, OFFLINE_PLAN, np.array(table, "<i4"))
    interpreter = runtime.Interpreter.from_bytes(writer.write(tree), arena_size=1 << 16)
    found = []
    for n in range(RUNS):
        for k, values in enumerate(inputs):
            interpreter.set_input(values[n], k)
        interpreter.invoke()
        found.append(interpreter.get_output(0).copy())
    return found
