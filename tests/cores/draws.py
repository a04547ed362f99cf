"""Random cases for cores: hand-made programs, and programs of converted random networks."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from cores.cases import Case, model_cases
from kernels import networks, tile_plans
from kernels.naive import Int8
from kernels.networks import Network, random_inputs
from kernels.packings import packed
from kernels.programs import Lowered, can_iterate, lower
from numpy.random import Generator
from property.forced import mobile
from property.networks import build
from property.oracle import convert

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.packing import Family
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE

SMALL_RAM = 11 << 10
"""Arena bytes that fit every machine."""


LAST = 512
"""Size of the caches: tests need the same draws on every core and in every packing."""


@dataclass(frozen=True)
class Drawn:
    """A random network, lowered for the generic family, and its inputs."""

    network: Network
    lowered: Lowered | tile_plans.Lowered
    inputs: list[Int8]

    @functools.cached_property
    def expected(self) -> Int8:
        """Outputs of the naive reference."""
        return self.network.run(self.inputs)[-1]


@functools.lru_cache(LAST)
def _drawn(draw: Callable[[int], tuple[Network, Lowered | tile_plans.Lowered, Generator]], seed: int) -> Drawn:
    network, lowered, rng = draw(seed)
    return Drawn(network, lowered, random_inputs(rng, network))


def _case(drawn: Drawn, family: Family) -> Case | None:
    """Return None if the network is too large for the smallest machine."""
    lowered = packed(drawn.lowered, family)
    if lowered.arena.nbytes > SMALL_RAM:
        return None
    return Case(pack(lowered.program), lowered.arena, drawn.inputs, [drawn.expected])


def _rows(seed: int) -> tuple[Network, Lowered, Generator]:
    rng = np.random.default_rng(seed)
    network = networks.draw(rng, int(rng.integers(2, 9)))
    cuts = sorted({int(c) for c in rng.integers(1, len(network.ops), int(rng.integers(0, 3)))})
    iterative = {i for i, op in enumerate(network.ops) if can_iterate(network, op) and rng.random() < 0.8}
    return network, lower(network, cuts, iterative, rng), rng


def _deep(seed: int) -> tuple[Network, Lowered, Generator]:
    rng = np.random.default_rng(seed)
    network = networks.draw_deep(rng, int(rng.integers(1, 5)))
    return network, lower(network, [], set(), rng), rng


def _depthwise(seed: int) -> tuple[Network, Lowered, Generator]:
    rng = np.random.default_rng(seed)
    network = networks.draw_depthwise(rng)
    return network, lower(network, [], set(), rng), rng


def row_case(seed: int, family: Family = Family.GENERIC) -> Case | None:
    """A random network in random groups of rows."""
    return _case(_drawn(_rows, seed), family)


def tile_case(seed: int, family: Family = Family.GENERIC) -> Case | None:
    """A random network in tiled groups, half of them with channel groups."""
    return _case(_drawn(tile_plans.draw_groups if seed % 2 else tile_plans.draw, seed), family)


def pixel_case(seed: int, family: Family = Family.GENERIC) -> Case | None:
    """A random network made pixel by pixel, for which some kernels have separate code."""
    return _case(_drawn(tile_plans.draw_pixels, seed), family)


def deep_case(seed: int, family: Family = Family.GENERIC) -> Case | None:
    """Convolutions of many channels, which suit packed kernels."""
    return _case(_drawn(_deep, seed), family)


def depthwise_case(seed: int, family: Family = Family.GENERIC) -> Case | None:
    """A depthwise convolution with the window that has its own kernel core."""
    return _case(_drawn(_depthwise, seed), family)


DRAWS: tuple[Callable[[int, Family], Case | None], ...] = (row_case, tile_case, pixel_case, deep_case, depthwise_case)


@functools.lru_cache(LAST)
def converted_cases(seed: int, target: str) -> list[Case]:
    """The regions of a network, packed as the converter packs them."""
    tiles = random.Random(seed).choice((None, NO_RECOMPUTE))
    converted = convert(build(mobile(seed)), ConversionOptions(seconds=0, target=target, tiles=tiles, reorder=False))
    return [case for case in model_cases(converted[0]) if case.arena.nbytes <= SMALL_RAM] if converted else []
