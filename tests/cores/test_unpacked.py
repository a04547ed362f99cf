"""A Cortex-M4 correctly runs programs converted without `--target`, with fewer instructions than a Cortex-M3."""

from functools import cache

import numpy as np
import pytest
from cores.cases import Case, model_cases, run
from cores.core import CORES, missing_tools
from memories import lstm
from models import Net

import tflm_memopt

pytestmark = pytest.mark.slow
MOST = {
    "pointwise": 0.62,
    "window": 0.64,
    "colours": 0.77,
    "depthwise": 0.7,
    "dense": 0.6,
    "series": 0.7,
    "addition": 0.85,
    "lstm": 0.78,
}


def _layer(name: str) -> bytes:
    net = Net(3)
    match name:
        case "pointwise":
            net.conv2d(net.input((1, 12, 9, 61)), 30)
        case "window":
            net.conv2d(net.input((1, 9, 10, 18)), 21, kernel=(3, 3), stride=(2, 1))
        case "colours":
            net.conv2d(net.input((1, 16, 17, 3)), 9, kernel=(3, 3))
        case "depthwise":
            net.depthwise_conv2d(net.input((1, 11, 12, 31)), kernel=(5, 3))
        case "dense":
            net.fully_connected(net.input((1, 203)), 46)
        case "series":
            net.conv2d(net.input((1, 40, 1, 11)), 18, kernel=(5, 1))
        case "addition":
            x = net.input((1, 9, 8, 13))
            return net.model(net.add(x, net.pool(x, kind="MAX_POOL_2D", stride=(1, 1), padding="SAME")))
        case "lstm":
            return net.model(lstm(net, net.input((1, 3, 19), (0.05, 5)), 22))
    for op in net.graph.operators:
        weights = net.tree.buffers[net.graph.tensors[op.inputs[1]].buffer]
        data = np.array(weights.data, np.uint8)
        data[::7] = 0x80
        weights.data = data
    return net.model(net.graph.operators[-1].outputs[0])


@cache
def _case(name: str) -> Case:
    (case,) = model_cases(tflm_memopt.optimize(_layer(name), if_worthwhile=False).model)
    return case


@pytest.mark.parametrize("core", ["m4", "m55"])
@pytest.mark.parametrize("name", MOST)
def test_layers(core: str, name: str) -> None:
    if reason := missing_tools(CORES[core]):
        pytest.skip(reason)
    (outcome,) = run(CORES[core], [_case(name)])
    assert outcome.right
    (without,) = run(CORES["m3"], [_case(name)])
    assert outcome.instructions <= MOST[name] * without.instructions
