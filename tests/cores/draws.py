"""Random cases for cores: programs without a model around them, and those of random networks that were converted."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
from cores.cases import Case, model_cases
from kernels import networks, tile_plans
from kernels.networks import random_inputs
from kernels.packings import packed
from kernels.programs import Lowered, can_iterate, lower
from property.forced import mobile
from property.networks import build
from property.oracle import convert

from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.packing import Family
from tflm_memopt.plan.planner import Options
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE

SMALL_RAM = 11 << 10
"""Bytes of an arena that every machine has room for."""


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


DRAWS: tuple[Callable[[int, Family], Case | None], ...] = (row_case, tile_case, pixel_case, deep_case, depthwise_case)


def converted_cases(seed: int, target: str) -> list[Case]:
    """The regions of a network, as the converter packs them."""
    tiles = random.Random(seed).choice((None, NO_RECOMPUTE))
    converted = convert(build(mobile(seed)), Options(seconds=0, target=target, tiles=tiles, reorder=False))
    return [case for case in model_cases(converted[0]) if case.arena.nbytes <= SMALL_RAM] if converted else []
