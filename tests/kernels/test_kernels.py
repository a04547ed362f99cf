"""Compare the bytes of every kernel with the naive reference on random geometry, as single operators and in networks
with groups. A failure names its seed.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from conftest import examples, seeds

from kernels import networks
from kernels.families import BINARY, BINARY_INT8, CONVERTED, FLOAT, MAPPED_S16
from kernels.networks import POOLS_S16, WINDOWED, Network, operator, part, random_inputs, random_shape, reduced_whole
from kernels.programs import Lowered, can_iterate, lower
from tflm_memopt.lower.program import ProgramOp
from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.kinds import KINDS, Kind
from tflm_memopt.runtime import host

SEEDS = range(examples(30))


def single(op: ProgramOp, shape: networks.Shape, out: networks.Shape) -> Network:
    n = len(op.inputs)
    op = dataclasses.replace(op, inputs=tuple(range(n)), output=n)
    return Network(n, (*[shape] * n, out), (op,))


def repeating(network: Network, rng: np.random.Generator) -> Network:
    """Give operands a single row, column or channel in random places."""
    item = 1 if network.ops[0].kind in BINARY_INT8 else 2
    parts = [part(rng, shape, item) for shape in network.shapes[:-1]]
    return dataclasses.replace(network, shapes=(*parts, network.shapes[-1]))


def agree(network: Network, lowered: Lowered, rng: np.random.Generator, seed: int) -> None:
    """Check that both ways of running the program match the naive reference."""
    inputs = random_inputs(rng, network)
    expected = network.run(inputs)[-1]
    program = pack(lowered.program)
    (plain,) = host.run(program, inputs, [expected.size])
    np.testing.assert_array_equal(plain.reshape(expected.shape), expected, err_msg=f"seed {seed}")
    (watched,) = host.run_guarded(program, lowered.arena, inputs, [expected.size], seed)
    np.testing.assert_array_equal(watched, plain, err_msg=f"seed {seed}, in the arena")


CROSSING = (Kind.SEND, Kind.RECEIVE)
NOT_ALONE = {Kind.LSTM, Kind.SLIDING_SUM, Kind.OWN, Kind.GATHER_ND, Kind.SELECT, *CROSSING, *FLOAT}
"""Kinds that other tests cover: tests/tflm/test_memories.py, test_sliding.py, test_own.py, test_tails.py and
test_devices.py, and for float32 tests/property/test_float_models.py.
"""


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind not in NOT_ALONE])
def test_operator(kind: Kind) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng((int(kind), seed))
        shape = random_shape(rng)
        network = single(*_with_shape(rng, kind, shape))
        agree(network, lower(network, [], set(), rng), rng, seed)
        if kind in BINARY:
            network = repeating(network, rng)
            agree(network, lower(network, [], set(), rng), rng, seed)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_sums_of_different_bytes(count: int) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng((count, seed))
        values, of_each = random_shape(rng), rng.integers(1, 5, count).tolist()
        op, _ = operator(rng, Kind.ADD_SUMS, tuple(range(count)), values, count)
        op, out = networks.added(rng, op, values, of_each)
        network = Network(count, (*((*values[:2], values[2] * n) for n in of_each), out), (op,))
        agree(network, lower(network, [], set(), rng), rng, seed)


@pytest.mark.parametrize("kind", [*WINDOWED, *POOLS_S16])
def test_one_row_at_a_time_is_the_whole_window(kind: Kind) -> None:
    for seed in SEEDS:
        rng = np.random.default_rng((int(kind), seed))
        h, w, c = random_shape(rng)
        shape = (h, w, c * KINDS[kind].reads)
        op, _ = operator(rng, kind, (0,), shape, 1)
        op, out = reduced_whole(rng, op, shape)
        network = single(op, shape, out)
        for iterative in (set[int](), {0}):
            agree(network, lower(network, [], iterative, rng), np.random.default_rng(seed), seed)


def test_network_in_groups() -> None:
    for seed in seeds(32):
        rng = np.random.default_rng(seed)
        network = networks.draw(rng, int(rng.integers(2, 9)))
        cuts = sorted({int(c) for c in rng.integers(1, len(network.ops), int(rng.integers(0, 3)))})
        iterative = {i for i, op in enumerate(network.ops) if can_iterate(network, op) and rng.random() < 0.8}
        lowered = lower(network, cuts, iterative, rng)
        agree(network, lowered, rng, seed)
        output_bytes = [int(np.prod(network.shapes[-1]))]
        order = host.iteration_order(pack(lowered.program), random_inputs(rng, network), output_bytes)
        assert [(f.op, f.row) for f in order] == list(lowered.order)


def test_a_chain_longer_than_the_executor_remembers() -> None:
    """The chain of waiting operators is longer than tmo_run_state can hold."""
    rng = np.random.default_rng(1)
    network = networks.chain(rng, 40, (9, 4, 2))
    lowered = lower(network, [], set(), rng)
    agree(network, lowered, rng, 1)
    order = host.iteration_order(pack(lowered.program), random_inputs(rng, network), [9 * 4 * 2])
    assert [(f.op, f.row) for f in order] == list(lowered.order)


NARROWING = [kind for kind, (read, written) in CONVERTED.items() if read >= written]


@pytest.mark.parametrize("kind", [*BINARY, Kind.LOOKUP, *MAPPED_S16, *NARROWING])
def test_in_place(kind: Kind) -> None:
    """The output row may overwrite the row of any operand."""
    for operand in range(2 if kind in BINARY else 1):
        rng = np.random.default_rng(operand)
        network = single(*_with_shape(rng, kind, (6, 5, 4)))
        lowered = lower(network, [], set(), rng)
        arena = dataclasses.replace(lowered.arena, outputs=(lowered.arena.inputs[operand],))
        agree(network, dataclasses.replace(lowered, arena=arena), rng, operand)


def _with_shape(
    rng: np.random.Generator, kind: Kind, shape: networks.Shape
) -> tuple[ProgramOp, networks.Shape, networks.Shape]:
    h, w, c = shape
    shape = {
        Kind.GATHER: (h, w, 4),
        Kind.BATCH_MATMUL: (c if h % 2 else h, 1, c),
        **dict.fromkeys(networks.INT16, (h, w, 2 * c)),
        Kind.BATCH_MATMUL_S16: (c if h % 2 else h, 1, 2 * c),
        **{converting: (h, w, read * c) for converting, (read, _) in CONVERTED.items()},
    }.get(kind, shape)
    two = kind in (*BINARY, Kind.BATCH_MATMUL, Kind.BATCH_MATMUL_S16, Kind.ADD_SUMS)
    op, out = operator(rng, kind, (0, 1) if two else (0,), shape, 2)
    return op, shape, out
