"""The library on real instruction sets: random programs and whole models, every byte as on this machine.

Canaries around the arena stay whole, and one run keeps to the stack that the targets allow.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import EXAMPLE, examples, optimized
from cores.cases import TOO_LARGE, Case, blob, model_cases, run
from cores.core import CORES, Core, missing_tools
from kernels import networks, tile_plans
from kernels.networks import random_inputs
from kernels.packings import packed
from kernels.programs import Lowered, can_iterate, lower

from tflm_memopt.lower.serialise import pack
from tflm_memopt.model.packing import Family
from tflm_memopt.runtime import host

SMALL_RAM = 11 << 10
"""Bytes of an arena that every machine has room for."""
QUICK = ("m4",)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "core" in metafunc.fixturenames:
        marks = {name: () if name in QUICK else (pytest.mark.slow,) for name in CORES}
        metafunc.parametrize("core", [pytest.param(c, id=c.name, marks=marks[c.name]) for c in CORES.values()])


@pytest.fixture(autouse=True)
def _tools(core: Core) -> None:
    if reason := missing_tools(core):
        pytest.skip(reason)


def row_case(seed: int, family: Family = Family.GENERIC) -> Case | None:
    """A random network in random row blocks; None when it is too large for the smallest machine."""
    rng = np.random.default_rng(seed)
    network = networks.draw(rng, int(rng.integers(2, 9)))
    cuts = sorted({int(c) for c in rng.integers(1, len(network.ops), int(rng.integers(0, 3)))})
    iterative = {i for i, op in enumerate(network.ops) if can_iterate(network, op) and rng.random() < 0.8}
    return _case(network, packed(lower(network, cuts, iterative, rng), family), rng)


def tile_case(seed: int, family: Family = Family.GENERIC) -> Case | None:
    """The same in tiled blocks, every other one with channel groups."""
    network, lowered, rng = (tile_plans.draw_groups if seed % 2 else tile_plans.draw)(seed)
    return _case(network, packed(lowered, family), rng)


def pixel_case(seed: int, family: Family = Family.GENERIC) -> Case | None:
    """Pixel by pixel, which some kernels do in their own way."""
    network, lowered, rng = tile_plans.draw_pixels(seed)
    return _case(network, packed(lowered, family), rng)


def deep_case(seed: int, family: Family = Family.GENERIC) -> Case | None:
    """Convolutions of many channels, as packed kernels like them."""
    rng = np.random.default_rng(seed)
    network = networks.draw_deep(rng, int(rng.integers(1, 5)))
    return _case(network, packed(lower(network, [], set(), rng), family), rng)


def depthwise_case(seed: int, family: Family = Family.GENERIC) -> Case | None:
    """The window that has a core of its own."""
    rng = np.random.default_rng(seed)
    network = networks.draw_depthwise(rng)
    return _case(network, packed(lower(network, [], set(), rng), family), rng)


def _case(network: networks.Network, lowered: Lowered | tile_plans.Lowered, rng: np.random.Generator) -> Case | None:
    inputs = random_inputs(rng, network)
    if lowered.arena.nbytes > SMALL_RAM:
        return None
    return Case(pack(lowered.program), lowered.arena, inputs, [network.run(inputs)[-1]])


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("draw", [row_case, tile_case, pixel_case, deep_case, depthwise_case])
def test_random_networks(core: Core, draw: Callable[[int, Family], Case | None], family: Family) -> None:
    """Packed ones on the cores that have their instructions; the others say that they are for someone else."""
    cases = {seed: case for seed in range(examples(60)) if (case := draw(seed, family))}
    if family not in core.families:
        assert {o.status for o in run(core, list(cases.values())[:3])} == {host.Status.TARGET}
        return
    outcomes = run(core, list(cases.values()))
    wrong = {seed: o for seed, o in zip(cases, outcomes, strict=True) if not o.right or o.stack > core.most_stack}
    assert len(outcomes) > examples(40) and not wrong


@pytest.mark.slow
def test_the_example_model(core: Core) -> None:
    (outcome,) = run(core, model_cases(optimized(EXAMPLE, core.target)))
    if core.ram_bytes <= 16 << 10:
        assert outcome.status == TOO_LARGE
    else:
        assert outcome.right and outcome.stack <= core.most_stack and outcome.instructions > 100_000


def test_a_wrong_byte_is_seen(core: Core) -> None:
    """The comparison on the core can fail."""
    case = next(case for seed in range(9) if (case := row_case(seed)))
    flipped = case.expected[0].copy()
    flipped.flat[0] ^= 1
    right, wrong = run(core, [case, Case(case.program, case.arena, case.inputs, [flipped])])
    assert (right.wrong, wrong.wrong) == (0, 1)


@pytest.mark.slow
def test_whole_models(core: Core, small_model: Path) -> None:
    rewritten = optimized(small_model)
    if len(rewritten) > core.blob_bytes or len(blob(cases := model_cases(rewritten))) > core.blob_bytes:
        return  # the machine has no room for its weights, inputs and outputs
    for outcome in run(core, cases):
        assert outcome.status == TOO_LARGE or outcome.right
