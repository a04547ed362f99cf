"""Draws random programs and random networks for emulated cores."""

import functools
import random
from collections.abc import Callable
from dataclasses import replace

from cores.cases import Case, model_cases
from kernels import drawn
from property.forced import mobile
from property.networks import build
from property.oracle import convert

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.lower.serialise import pack
from tflm_memopt.ops.packing import Family
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE

SMALL_RAM = 11 << 10
"""An arena of SMALL_RAM bytes fits into the RAM of every emulated machine."""
DRAWS = (drawn.by_row, drawn.tiled, drawn.pixels, drawn.packed, drawn.depthwise, drawn.two_rows)


@functools.lru_cache(512)
def program_case(draw: Callable[[int, Family], drawn.Drawn], seed: int, family: Family) -> Case | None:
    found = draw(seed, family)
    if found.arena.nbytes > SMALL_RAM:
        return None
    return Case(pack(found.program), found.arena, found.inputs, [found.expected])


@functools.lru_cache(512)
def converted_cases(seed: int, target: str) -> list[Case]:
    recipe = replace(mobile(seed), inside="INT8" if seed % 3 else "INT16")
    tiles = random.Random(seed).choice((None, NO_RECOMPUTE))
    converted = convert(build(recipe), ConversionOptions(seconds=0, target=target, tiles=tiles, reorder=False))
    return [case for case in model_cases(converted[0]) if case.arena.nbytes <= SMALL_RAM] if converted else []
