"""int8 kernels stay inside their buffers on random geometry, and give the bytes of whole tensors in groups, in place
and one row at a time. property/test_layers.py runs all kinds under TFLM and in guarded buffers.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from conftest import examples, seeds

from kernels import networks
from kernels.drawn import Drawn, agree, in_rows, one_group
from kernels.networks import (
    BINARY,
    WINDOWED,
    Network,
    Shape,
    operator,
    part,
    random_inputs,
    random_shape,
    reduced_whole,
)
from kernels.programs import can_iterate, computed, lower, single
from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.runtime import host

SEEDS = range(examples(30))
KINDS_ALONE = (*WINDOWED, *BINARY, Kind.LOOKUP, Kind.SOFTMAX, Kind.LOG_SOFTMAX, Kind.ARG_MAX, Kind.GATHER)


def repeating(network: Network, rng: np.random.Generator) -> Network:
    """Give the operands a single row, column or channel in random places."""
    parts = [part(rng, shape) for shape in network.shapes[:-1]]
    return dataclasses.replace(network, shapes=(*parts, network.shapes[-1]))


@pytest.mark.parametrize("kind", KINDS_ALONE)
def test_operator(kind: Kind) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng((int(kind), seed))
        shape = random_shape(rng)
        network = _single(rng, kind, shape)
        agree(one_group(network, rng), seed)
        if kind in BINARY:
            network = repeating(network, rng)
            agree(one_group(network, rng), seed)


@pytest.mark.parametrize("kind", WINDOWED)
def test_one_row_at_a_time_is_the_whole_window(kind: Kind) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng((int(kind), seed))
        shape = random_shape(rng)
        op, _ = operator(rng, kind, (0,), shape, 1)
        op, out = reduced_whole(rng, op, shape)
        network = single(op, [shape, out])
        agree(in_rows(network, lower(network, [], {0}, rng), rng), seed)


def order_of(found: Drawn) -> list[tuple[int, int]]:
    order = host.iteration_order(pack(found.program), found.inputs, [found.expected.size])
    return [(unit.op, unit.row) for unit in order]


def test_network_in_groups() -> None:
    for seed in seeds(32):
        rng = np.random.default_rng(seed)
        network = networks.draw(rng, int(rng.integers(2, 9)))
        cuts = sorted({int(c) for c in rng.integers(1, len(network.ops), int(rng.integers(0, 3)))})
        iterative = {i for i, op in enumerate(network.ops) if can_iterate(network, op) and rng.random() < 0.8}
        lowered = lower(network, cuts, iterative, rng)
        found = in_rows(network, lowered, rng)
        agree(found, seed)
        assert order_of(found) == list(lowered.order)


@pytest.mark.parametrize("kind", BINARY)
def test_operands_may_be_listed_in_the_other_order(kind: Kind) -> None:
    rng = np.random.default_rng(int(kind))
    network = _single(rng, kind, (4, 3, 5))
    (op,) = network.ops
    plain = dataclasses.replace(op, swapped=False)
    swapped = dataclasses.replace(op, swapped=True, input_zero_points=op.input_zero_points[::-1])
    if op.multipliers is not None and op.shifts is not None and len(op.shifts) == 3:  # two operands, output
        swapped = dataclasses.replace(swapped, multipliers=op.multipliers[[1, 0, 2]], shifts=op.shifts[[1, 0, 2]])
    inputs = random_inputs(rng, network)
    expected = computed(dataclasses.replace(network, ops=(plain,)), inputs)
    got = computed(dataclasses.replace(network, ops=(swapped,)), inputs[::-1])
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("kind", [*BINARY, Kind.LOOKUP])
def test_in_place(kind: Kind) -> None:
    """The output row may overwrite the row of any operand."""
    for operand in range(2 if kind in BINARY else 1):
        rng = np.random.default_rng(operand)
        network = _single(rng, kind, (6, 5, 4))
        lowered = lower(network, [], set(), rng)
        arena = dataclasses.replace(lowered.arena, outputs=(lowered.arena.inputs[operand],))
        agree(in_rows(network, dataclasses.replace(lowered, arena=arena), rng), operand)


def _single(rng: np.random.Generator, kind: Kind, shape: Shape) -> Network:
    """Draw an operator on tensors of about this shape."""
    shape = (*shape[:2], 4) if kind is Kind.GATHER else shape
    op, out = operator(rng, kind, (0, 1) if kind in BINARY else (0,), shape, 2)
    return single(op, [*[shape] * len(op.inputs), out])
