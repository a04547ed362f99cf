"""The converter copies weights from flash to the arena only where a copy saves time."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from counted_traffic import assert_equal_outputs, counted
from models import Net

import tflm_memopt
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.check.checker import check
from tflm_memopt.convert.request import request
from tflm_memopt.errors import PlanError, UsageError
from tflm_memopt.lower.traffic import BytesMoved
from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import GroupSharding, Plan, Role


@pytest.fixture(scope="module")
def network() -> bytes:
    net = Net(4)
    x = net.conv2d(net.input((1, 14, 12, 3)), 16, kernel=(3, 3))
    x = net.conv2d(net.depthwise_conv2d(net.conv2d(x, 24), kernel=(3, 3), stride=(2, 2)), 8)
    return net.model(net.fully_connected(net.mean(x, (1, 2)), 5))


def copies(made: Optimized) -> int:
    assert made.plan
    return sum(buffer.role is Role.WEIGHTS for buffer in made.plan.buffers)


@pytest.mark.parametrize("target", ["generic", "cortex-m4", "cortex-m55", "rv32-v", "esp-nn"])
def test_outputs_and_traffic(network: bytes, target: str) -> None:
    plain, made = (tflm_memopt.optimize(network, target=target, weights=where) for where in ("flash", "ram"))
    after = read(made.model)
    assert_equal_outputs(read(network), after)
    memories, flash = made.report.memories, plain.report.memories
    assert memories and flash and copies(made) >= 2
    assert counted(after) == BytesMoved(0, 0, memories.weights_read)
    assert memories.weights_copied < memories.weights_read < flash.weights_read
    assert not flash.weights_copied
    assert memories.fast <= plain.report.arena.total + memories.weights_copied + 16 * copies(made)


def test_the_plan_can_be_saved(network: bytes) -> None:
    made = tflm_memopt.optimize(network, weights="ram")
    assert made.plan == Plan.from_json(made.plan.to_json())
    assert tflm_memopt.optimize(network, plan=made.plan.to_json()).model == made.model


def test_copies_that_save_time() -> None:
    net = Net(5)
    x = net.conv2d(net.conv2d(net.input((1, 16, 16, 6)), 24, kernel=(3, 3)), 8, kernel=(5, 5), stride=(4, 4))
    x = net.conv2d(net.conv2d(net.unary("L2_NORMALIZATION", x), 16), 8, kernel=(3, 3))
    network = net.model(x)
    assert not copies(tflm_memopt.optimize(network))
    on = {where: tflm_memopt.optimize(network, board="nucleo_l4r5zi", weights=where) for where in ("auto", "flash")}
    assert on["auto"].report.arena.total == on["flash"].report.arena.total
    assert on["auto"].report.memories.weights_read < on["flash"].report.memories.weights_read
    limit = on["flash"].report.arena.total + 2_000
    roomy = tflm_memopt.optimize(network, board="nucleo_l4r5zi", ram_limit=limit)
    assert copies(roomy) > copies(on["auto"])
    assert roomy.report.arena.total <= limit


def test_builtin_operators_never_copy(network: bytes) -> None:
    with pytest.raises(UsageError, match="cannot be combined with --weights ram"):
        tflm_memopt.optimize(network, weights="ram", ops="builtin")


@pytest.mark.parametrize("target", ["generic", "cortex-m33", "esp-nn"])
def test_two_cores(network: bytes, target: str) -> None:
    made = tflm_memopt.optimize(network, target=target, weights="ram", cores=2)
    assert copies(made) >= 2
    assert tflm_memopt.verify(network, made.model, runs=4).bit_exact
    conversion = request({"target": target, "cores": 2}).conversion(network)
    planned = conversion.saved(made.plan.to_json()).planned
    plan = replace(planned.plan, shardings=tuple(without_the_barrier(planned)))
    assert plan != planned.plan
    with pytest.raises(PlanError, match="which core 0 has written since the last barrier"):
        check(plan, planned.graph)


def without_the_barrier(planned: Planned) -> Iterator[GroupSharding]:
    for sharding in planned.plan.shardings:
        after = min((i for i in sharding.barriers if i > 0), default=None)
        copied = planned.plan.find(Role.WEIGHTS, planned.groups[sharding.step].trace.members[0].op.output)
        barriers = tuple(i for i in sharding.barriers if i != after or not copied)
        yield replace(sharding, barriers=barriers)


def test_the_checker_replays_copies(network: bytes) -> None:
    made = request({}).conversion(network)
    planned = made.saved(tflm_memopt.optimize(network, weights="ram").plan.to_json()).planned
    plan, graph = planned.plan, planned.graph
    check(plan, graph)
    at = next(i for i, buffer in enumerate(plan.buffers) if buffer.role is Role.WEIGHTS)
    other = next(o for b, o in plan.placed() if b.role is Role.ROLLING_BUFFER)
    moved = tuple(other // 16 * 16 if i == at else o for i, o in enumerate(plan.offsets))
    with pytest.raises(PlanError, match="overwritten"):
        check(replace(plan, offsets=moved), graph)
    odd = tuple(o + 4 if i == at else o for i, o in enumerate(plan.offsets))
    with pytest.raises(PlanError, match="misaligned"):
        check(replace(plan, offsets=odd), graph)
    short = tuple(replace(b, nbytes=b.nbytes - 1) if i == at else b for i, b in enumerate(plan.buffers))
    with pytest.raises(PlanError, match="bytes of weights"):
        made.of(replace(plan, buffers=short))
