"""Test which operators run twice to save memory."""

import json
from collections.abc import Callable

import pytest
from conftest import thinned
from models import Net
from moving import concatenation

import tflm_memopt
from tflm_memopt.errors import UsageError

SIZE, WIDE = 10, 24
EXPAND, DEPTHWISE, MUL, ADD = 1, 2, 7, 9


def squeeze_excite() -> bytes:
    net = Net(3)
    x = net.conv2d(net.input((1, SIZE, SIZE, 3)), 4, kernel=(3, 3))
    return net.model(_inverted(net, x))


def two_gates() -> bytes:
    net = Net(4)
    x = _inverted(net, net.conv2d(net.input((1, SIZE, SIZE, 3)), 4, kernel=(3, 3)))
    return net.model(_inverted(net, net.conv2d(x, 4, kernel=(3, 3), stride=(2, 2))))


def _inverted(net: Net, x: int) -> int:
    wide = net.depthwise_conv2d(net.conv2d(x, WIDE))
    gate = net.conv2d(net.conv2d(net.mean(wide, (1, 2)), 2, activation="RELU"), WIDE)
    gated = net.binary("MUL", wide, net.unary("LOGISTIC", gate, out=(1 / 256, -128)), out=net.affine(wide))
    return net.add(net.conv2d(gated, 4, out=net.affine(x)), x)


def centred() -> bytes:
    net = Net(5)
    wide = net.conv2d(net.conv2d(net.input((1, 12, 12, 2)), 2), 16)
    return net.model(net.conv2d(net.binary("SUB", wide, net.mean(wide, (1, 2)), out=(0.1, 0)), 2))


def gated_at_once() -> bytes:
    net = Net(6)
    wide = net.conv2d(net.input((1, 12, 12, 2)), 16)
    return net.model(net.conv2d(net.binary("MUL", wide, net.mean(wide, (1, 2)), out=(0.1, 0)), 2))


@pytest.mark.parametrize("model", thinned([squeeze_excite, two_gates, centred, gated_at_once], 1))
def test_compute_buys_ram_and_the_bytes_stay(model: Callable[[], bytes]) -> None:
    data = model()
    once, again = tflm_memopt.optimize(data), tflm_memopt.optimize(data, max_macs=2.5)
    without = tflm_memopt.optimize(data, max_macs=2.5, without=["rematerialisation"])
    assert again.plan is not None
    assert again.plan.rematerialisations
    assert again.report.arena.total < without.report.arena.total <= once.report.arena.total
    assert again.report.overhead <= 2.5
    assert again.report.flash.rewritten < once.report.flash.rewritten + 4096
    assert tflm_memopt.verify(data, again.model, runs=2).bit_exact
    stages = [stage for group in again.report.groups for stage in group.stages if stage.rematerialised]
    assert len(stages) == sum(len(one.ops) for one in again.plan.rematerialisations)


def test_a_saved_plan_has_its_second_passes() -> None:
    data = squeeze_excite()
    first = tflm_memopt.optimize(data, max_macs=2.5)
    assert first.plan is not None
    document = json.loads(json.dumps(first.plan.to_json()))
    assert document["rematerialisations"] == [{"reader": MUL, "ops": [EXPAND, DEPTHWISE]}]
    assert tflm_memopt.optimize(data, plan=document).model == first.model
    for damaged in ([], [{"reader": MUL, "ops": [DEPTHWISE]}], [{"reader": ADD, "ops": [EXPAND, DEPTHWISE]}]):
        with pytest.raises(UsageError) as refused:
            tflm_memopt.optimize(data, plan=document | {"rematerialisations": damaged})
        assert refused.value.code == "bad_plan"


def test_a_model_whose_only_macs_are_of_an_unread_value() -> None:
    net = Net(1)
    x = net.input((1, 8, 8, 5))
    net.conv2d(x, 3)
    y = concatenation(net, [x] * 8, 3)
    data = net.model(net.mean(net.binary("MUL", y, net.mean(y, (1, 2))), (1, 2)))
    assert tflm_memopt.optimize(data, max_macs=1.3, effort=0.05).report.macs.rewritten == 0
