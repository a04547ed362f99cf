"""Compare tiled groups with the naive reference: stripes, column tiles, column windows, recomputed rows, channel
groups.

Bytes and the order of iterations match the naive planner's.
"""

from __future__ import annotations

import ctypes
import dataclasses
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import seeds
from kernels import networks, tile_plans
from kernels.conftest import THREADS, Build, sample
from kernels.families import BINARY_INT8
from kernels.networks import CHANNELWISE, Network, random_inputs
from kernels.tile_plans import Lowered
from kernels.tiles import Stripes
from numpy.random import Generator

from tflm_memopt.lower.program import TENSOR, Program
from tflm_memopt.lower.serialise import pack
from tflm_memopt.runtime import host

Drawn = tuple[Network, Lowered, Generator]
SEEDS = range(72)


def agree(drawn: Drawn) -> None:
    network, lowered, rng = drawn
    inputs = random_inputs(rng, network)
    expected = network.run(inputs)[-1]
    program = pack(lowered.program)
    assert host.iteration_order(program, inputs, [expected.size]) == list(lowered.order)
    (plain,) = host.run(program, inputs, [expected.size])
    np.testing.assert_array_equal(plain.reshape(expected.shape), expected)
    (watched,) = host.run_guarded(program, lowered.arena, inputs, [expected.size])
    np.testing.assert_array_equal(watched, plain)


def test_the_rows_of_a_stripe() -> None:
    """Recomputed rows may begin before row 0 for some numbers, which random networks never produce."""
    for seed in seeds(10):
        rng, library = np.random.default_rng(seed), host._library()
        height, advance = (int(n) for n in rng.integers(1, 40, 2))
        rows = advance + int(rng.integers(0, 9)) * (seed % 2)
        stripes = Stripes(advance, int(rng.integers(-5, rows + 9)), rows, height, 8)
        fields = {"width": 1, "height": height, "advance": advance, "end": stripes.end, "rows": rows}
        tensor = np.zeros(1, TENSOR)
        for name, value in fields.items():
            tensor[name] = value
        at = ctypes.c_void_p(tensor.ctypes.data)
        for m in range(stripes.count):
            first, end = (
                library.tmo_stripe_first(at, ctypes.c_uint16(m)),
                library.tmo_stripe_end(at, ctypes.c_uint16(m)),
            )
            assert range(first, end) == stripes.made(m)


def test_network_in_tiles() -> None:
    for seed in seeds(48):
        agree(tile_plans.draw(seed))


def test_bottleneck_in_groups() -> None:
    for seed in seeds(48):
        agree(tile_plans.draw_groups(seed))


def test_a_chain_longer_than_the_executor_remembers() -> None:
    """The chain of waiting operators is longer than tmo_run_state."""
    rng = np.random.default_rng(1)
    network = networks.chain(rng, 24, (9, 4, 2))
    agree((network, tile_plans.lower(network, [], set(), rng), rng))


@pytest.mark.slow
def test_every_technique_is_drawn() -> None:
    """The networks above cover every technique."""
    programs = [draw(seed)[1] for seed in SEEDS for draw in (tile_plans.draw, tile_plans.draw_groups)]
    ops = [(p.program, op) for p in programs for op in p.program.ops]
    nests = [t.nest for p in programs for t in p.program.tensors if t.nest and t.column_windows]
    assert sum(op.iterative for _, op in ops) > 6
    assert sum(op.channel_groups > 1 for _, op in ops) > 64
    wholes = [p.tensors[op.output].column_windows == () for p, op in ops if op.channel_groups > 1]
    assert sum(wholes) > 3
    assert {op.kind for _, op in ops if op.channel_groups > 1} >= set(CHANNELWISE)
    assert sum(op.kind in BINARY_INT8 and all(p.tensors[t].column_windows for t in op.inputs) for p, op in ops) > 6
    assert sum(1 < op.tile < p.tensors[op.output].width for p, op in ops) > 32
    assert sum(op.tile == 1 < p.tensors[op.output].width for p, op in ops) > 32
    assert sum(w.rows > w.advance for w in nests) > 32  # recomputed
    assert sum(w.rows == w.advance for w in nests) > 32
    assert sum(w.end < 0 for w in nests) > 1
    assert sum(len(t.column_windows) > 1 for p in programs for t in p.program.tensors) > 32


def shallower(program: Program) -> Iterator[Program]:
    """Yield all programs with one pixel less in one column window."""
    for i, tensor in enumerate(program.tensors):
        for n, column_window in enumerate(tensor.column_windows):
            if column_window.depth > 1:
                less = dataclasses.replace(column_window, depth=column_window.depth - 1)
                other = dataclasses.replace(
                    tensor, column_windows=(*tensor.column_windows[:n], less, *tensor.column_windows[n + 1 :])
                )
                yield dataclasses.replace(program, tensors=(*program.tensors[:i], other, *program.tensors[i + 1 :]))


@pytest.mark.slow
@pytest.mark.parametrize("draw", [tile_plans.draw, tile_plans.draw_groups])
def test_column_windows_are_as_shallow_as_can_be(draw: Callable[[int], Drawn]) -> None:
    """With one pixel less in any column window, an output is wrong, so the column windows above are exact."""
    broken = total = 0
    for seed in range(16):
        network, lowered, rng = draw(seed)
        inputs = random_inputs(rng, network)
        expected = network.run(inputs)[-1]
        for program in shallower(lowered.program):
            (got,) = host.run(pack(program), inputs, [expected.size])
            total += 1
            broken += not np.array_equal(got, expected.ravel())
    assert total > 16
    assert broken > total // 2  # clamped or pooled outputs can hide a wrong pixel


@pytest.mark.slow
def test_sanitized(sanitized: Build, tmp_path: Path) -> None:
    """Run the programs in exactly sized buffers under AddressSanitizer and UndefinedBehaviorSanitizer."""
    paths = []
    for seed in range(40):
        for draw in (tile_plans.draw, tile_plans.draw_groups):
            network, lowered, rng = draw(seed)
            inputs = random_inputs(rng, network)
            expected = network.run(inputs)[-1]
            paths.append(tmp_path / f"{len(paths)}.bin")
            paths[-1].write_bytes(sample(lowered.program, inputs[:1], [expected]))
    done = subprocess.run([sanitized("fuzz.c", THREADS), "1", "0", *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
