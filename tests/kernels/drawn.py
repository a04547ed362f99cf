"""Draw programs of random networks, some with plans that no planner would choose."""

import functools
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from property import oracle
from property.forced import convolutions, expanding, forced, mobile, random_settings, separable
from property.layers import SUPPORTED, Layer
from property.layers.layer import MAX_ELEMENTS, random_layer
from property.networks import Recipe, build

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.format.codes import Part
from tflm_memopt.lower.parts import parts
from tflm_memopt.lower.program import Program
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import TARGETS, Family
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.runtime import host, regions
from tflm_memopt.runtime.host import DeviceArena

ROWS = tuple(kind for kind in SUPPORTED if kind not in ("split", "stacked", "channels first"))
PACKED = ("conv", "depthwise", "dense", "dense", "add")
DEPTHS = (1, 3, 4, 8, 16, 24, 32, 33, 48, 64, 96)


@dataclass(frozen=True)
class Drawn:
    program: Program
    arena: DeviceArena
    inputs: list[NDArray[Any]]
    expected: NDArray[Any]


def agree(found: Drawn, seed: int) -> None:
    program, size = pack(found.program), [found.expected.size]
    (plain,) = host.run(program, found.inputs, size)
    np.testing.assert_array_equal(plain, found.expected, err_msg=f"seed {seed}")
    (watched,) = host.run_guarded(program, found.arena, found.inputs, size, seed)
    np.testing.assert_array_equal(watched, found.expected, err_msg=f"seed {seed}, in the arena")


def _first(seed: int, draw: Callable[[random.Random], Drawn | None]) -> Drawn:
    attempts = (draw(random.Random(f"{seed} {attempt}")) for attempt in itertools.count())
    return next(found for found in attempts if found)


def _options(family: Family, **options: Any) -> ConversionOptions:
    target = next((name for name, other in TARGETS.items() if other is family), "generic")
    return ConversionOptions(seconds=0, target=target, reorder=False, **options)


def _converted(recipe: Recipe, options: ConversionOptions, rng: random.Random) -> Drawn | None:
    """Return None if the converter makes several programs or outputs, or if TFLM refuses the network."""
    data = build(recipe)
    converted = oracle.convert(data, options)
    if converted is None:
        return None
    model = read(converted[0])
    found = regions.regions(model)
    if len(found) != 1 or len(model.graph.ops) != 1 or len(model.graph.outputs) != 1:
        return None
    inputs = oracle.inputs_of(model.graph, recipe.seed)[rng.choice((0, 0, 0, 4))]
    try:
        (expected,) = oracle.run(oracle.original(data), inputs, 1)
    except RuntimeError:
        return None
    flat = [np.ascontiguousarray(values).view(np.int8).ravel() for values in (*inputs, expected)]
    return Drawn(unpack(found[0].program), regions.placement(model, found[0]), flat[:-1], flat[-1])


def _chain(rng: random.Random, kinds: Sequence[str], most: int, depths: Sequence[int]) -> Recipe:
    layers = [random_layer(rng, kinds, source=0, channels=rng.choice(depths)) for _ in range(rng.randint(1, most))]
    depth, few = rng.choice(depths), rng.choice((1, 1, 6, 13))
    shape = (1, rng.randint(1, few), rng.randint(1, few if few < 13 else 11), depth)
    if math.prod(shape) > MAX_ELEMENTS:
        shape = (1, 1, 1, depth)
    return Recipe((shape,), tuple(layers), seed=rng.getrandbits(16))


@functools.lru_cache(512)
def by_row(seed: int, family: Family = Family.GENERIC) -> Drawn:
    options = _options(family, tiles=None, effort=oracle.QUICKLY)
    return _first(seed, lambda rng: _converted(_chain(rng, ROWS, 4, range(1, 9)), options, rng))


@functools.lru_cache(512)
def packed(seed: int, family: Family = Family.GENERIC, kinds: Sequence[str] = PACKED) -> Drawn:
    options = _options(family, tiles=None, effort=oracle.QUICKLY)
    return _first(seed, lambda rng: _converted(_chain(rng, kinds, 4, DEPTHS), options, rng))


def alone(
    layer: Layer, shape: Sequence[int], family: Family = Family.GENERIC, *, inputs: int = 1, seed: int = 0
) -> Drawn:
    recipe = Recipe((tuple(shape),) * inputs, (layer,), seed=seed)
    found = _converted(recipe, _options(family, tiles=None), random.Random(seed))
    assert found
    return found


def depthwise(seed: int, family: Family = Family.GENERIC) -> Drawn:
    """Draw a depthwise convolution with the window size for which some kernels have a separate loop."""
    rng = random.Random(seed)
    shape = (1, rng.randint(2, 7), rng.randint(3, 12), rng.choice((4, 8, 12, 16, 17, 31, 32, 44, 48)))
    stride = rng.randint(1, 3)
    layer = Layer("depthwise", channels=3, stride=(stride, stride), activation="RELU", zero_point=-128)
    return alone(layer, shape, family, seed=seed)


@functools.lru_cache(512)
def tiled(seed: int, family: Family = Family.GENERIC, *, by_pixel: bool = False) -> Drawn:
    def draw(rng: random.Random) -> Drawn | None:
        number = rng.randrange(1 << 16)
        in_place = by_pixel and seed % 3 == 1
        recipe = expanding(number) if seed % 3 == 0 else convolutions(number) if in_place else mobile(number, most=3)
        settings = random_settings(rng)
        if by_pixel:
            settings = Settings(tile=1, at_once=1 if in_place else settings.at_once, group_channels=0)
        if seed % 3 == 0:
            settings = replace(settings, group_channels=rng.choice((1, 2, 3, 5)))
        with forced(settings, seed):
            found = _converted(recipe, _options(family), rng)
        return found if found and any(g.stripes for g in found.program.groups) else None

    return _first(seed, draw)


@functools.lru_cache(512)
def two_rows(seed: int, family: Family = Family.GENERIC) -> Drawn:
    options = _options(family, tiles=None, wide=family is Family.DSP, two_rows=True, reverse=False)

    def draw(rng: random.Random) -> Drawn | None:
        found = _converted(separable(rng.randrange(1 << 16)), options, rng)
        return found if found and (family is not Family.DSP or parts(found.program) >> Part.TWO_ROWS & 1) else None

    return _first(seed, draw)


def pixels(seed: int, family: Family = Family.GENERIC) -> Drawn:
    return tiled(seed, family, by_pixel=True)


def drawn(seed: int) -> Drawn:
    return (tiled if seed % 2 else by_row)(seed)
