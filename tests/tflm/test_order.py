"""Operators that run in another order than in the file give the same bytes under the official TFLM wheel."""

from collections.abc import Callable

import pytest
from conftest import thinned
from models import Net
from property.oracle import assert_arena_as_predicted, assert_same_bytes, rewrite

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.plan.plan import Builtin
from tflm_memopt.tflm.arena import predict

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")


def two_towers(net: Net) -> bytes:
    x = net.input((1, 16, 16, 8))
    wide = [net.normalized(y) for y in [net.conv2d(x, 16, kernel=(3, 3)) for _ in range(2)]]
    return net.model(net.add(*(net.conv2d(y, 4, stride=(2, 2)) for y in wide)))


def three_heads(net: Net) -> bytes:
    """All wide tensors are live at the same time."""
    x = net.input((1, 16, 16, 8))
    heads = [net.conv2d(x, 24, kernel=(3, 3)) for _ in range(3)]
    heads = [net.depthwise_conv2d(y) for y in heads]
    heads = [net.mean(net.conv2d(y, 4), (1, 2)) for y in heads]
    return net.model(net.add(net.add(heads[0], heads[1]), heads[2]))


@pytest.mark.parametrize("op_per_group", thinned([False, True], 1), ids=["region", "group"])
@pytest.mark.parametrize("build", thinned([two_towers, three_heads], 1), ids=lambda f: f.__name__)
def test_another_order_takes_fewer_bytes(build: Callable[[Net], bytes], op_per_group: bool) -> None:
    data = build(Net(seed=1))
    arenas, orders = [], []
    for reorder in (False, True):
        converted = rewrite(
            data, ConversionOptions("group" if op_per_group else "region", seconds=0.2, reorder=reorder)
        )
        assert_arena_as_predicted(converted[0], assert_same_bytes(data, converted[0]))
        arenas.append(predict(converted[0], "ilp32").total)
        plan = converted[1].plan
        orders.append([n for s in plan.steps for n in ([s.op] if isinstance(s, Builtin) else [x.op for x in s.stages])])
    assert orders[0] != orders[1]
    assert arenas[1] < 0.95 * arenas[0]
