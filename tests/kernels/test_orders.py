"""Where a program says who fires next, the executor does as if it had searched; whatever it says, it stays inside."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from conftest import thinned
from kernels import networks, tile_plans
from kernels.frames import streamed
from kernels.networks import Network
from kernels.orders import ordered
from kernels.programs import can_iterate, lower

from tflm_memopt.errors import ModelError
from tflm_memopt.lower.program import Program
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.plan.firing.order import Order
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import Status

SEEDS = range(150)


def drawn(seed: int) -> tuple[Network, Program, host.DeviceArena, np.random.Generator]:
    """Row blocks or tiled ones, one or several."""
    if seed % 2:
        network, tiled, rng = (tile_plans.draw_groups if seed % 3 == 0 else tile_plans.draw)(seed)
        return network, tiled.program, tiled.arena, rng
    rng = np.random.default_rng(seed)
    network = networks.draw(rng, int(rng.integers(1, 7)))
    cuts = [len(network.ops) // 2] if len(network.ops) > 3 and rng.random() < 0.5 else []
    rows = lower(network, cuts, {i for i, op in enumerate(network.ops) if can_iterate(network, op)}, rng)
    return network, rows.program, rows.arena, rng


@pytest.mark.parametrize("seed", thinned(SEEDS, 12))
def test_who_is_told_fires_as_who_searches(seed: int) -> None:
    network, program, arena, rng = drawn(seed)
    inputs = networks.random_inputs(rng, network)
    expected = network.run(inputs)[-1].ravel()
    firings = host.firing_order(pack(program), inputs, [expected.size])
    assert len(firings) == program.firings
    told = ordered(program, firings, rng)
    assert unpack(pack(told)) == told
    assert host.firing_order(pack(told), inputs, [expected.size]) == firings
    (watched,) = host.run_guarded(pack(told), arena, inputs, [expected.size])
    np.testing.assert_array_equal(watched, expected)
    pushed = pack(streamed(told, rng))  # each push finds its place in the order again
    assert host.firing_order(pushed, inputs, [expected.size]) == firings
    (got,) = host.run(pushed, inputs, [expected.size])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.slow
def test_long_orders_are_drawn() -> None:
    told = [order for seed in SEEDS[:40] for order in _told(seed).orders]
    assert sum(order.count > len(order.ops) > 1 for order in told) > 5
    assert sum(order.count > 20 for order in told) > 5


def _told(seed: int) -> Program:
    network, program, _, rng = drawn(seed)
    inputs = networks.random_inputs(rng, network)
    size = int(np.prod(network.shapes[-1]))
    return ordered(program, host.firing_order(pack(program), inputs, [size]), rng)


def hostile(program: Program, rng: np.random.Generator) -> Program:
    """Any operators, such as a block does not have, too, from any firings on: the first one, too."""
    orders = []
    for block in program.blocks:
        ops = tuple(rng.integers(0, block.n_ops + int(rng.integers(3)), int(rng.integers(1, 9))).tolist())
        start = int(rng.integers(0, program.firings)) if rng.random() < 0.7 else 0
        orders.append(Order(start, min(int(rng.choice([0, 1, 5, program.firings])), program.firings - start), ops))
    return replace(program, orders=tuple(orders))


@pytest.mark.parametrize("seed", thinned(SEEDS, 12))
def test_a_wrong_order_does_no_harm(seed: int) -> None:
    """Each firing writes its own pixels, and the run ends; what the pixels hold is another matter."""
    network, program, arena, rng = drawn(seed)
    inputs = networks.random_inputs(rng, network)
    size = int(np.prod(network.shapes[-1]))
    told = pack(hostile(program, rng))
    assert host.check(told, [values.nbytes for values in inputs], [size]) is Status.OK
    with contextlib.suppress(ModelError):  # it never ends, or too soon
        host.run_guarded(told, arena, inputs, [size])


def test_wrong_orders_are_noticed() -> None:
    """The orders above matter: an operator that fires too soon, or too often, spoils the output or ends the run."""
    spoilt = 0
    for seed in range(20):
        network, program, _, rng = drawn(seed)
        inputs = networks.random_inputs(rng, network)
        expected = network.run(inputs)[-1].ravel()
        try:
            (got,) = host.run(pack(hostile(program, rng)), inputs, [expected.size])
            spoilt += not np.array_equal(got, expected)
        except ModelError:
            spoilt += 1
    assert spoilt > 5
