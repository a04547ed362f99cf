"""Random programs with inputs and expected outputs. Groups of rows are planned naively, and their outputs are those of
single operators on whole tensors. Tiled groups are forced plans of the package, and their outputs are TFLM's.
"""

from __future__ import annotations

import functools
import itertools
import random
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from property import oracle
from property.forced import expanding, forced, mobile, random_settings, separable
from property.networks import build

from kernels import networks
from kernels.networks import Int8, Network
from kernels.packings import packed
from kernels.programs import Lowered, can_iterate, computed, lower
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


@dataclass(frozen=True)
class Drawn:
    """A program with one output, and its buffers in one arena."""

    program: Program
    arena: DeviceArena
    inputs: list[Int8]
    expected: Int8


def in_rows(network: Network, lowered: Lowered, rng: Generator, family: Family = Family.GENERIC) -> Drawn:
    """Pack a program for a family of cores, and draw its inputs."""
    lowered = packed(lowered, family)
    inputs = networks.random_inputs(rng, network)
    return Drawn(lowered.program, lowered.arena, inputs, computed(network, inputs))


def one_group(network: Network, rng: Generator, family: Family = Family.GENERIC) -> Drawn:
    """Pack one group without iterative operators."""
    return in_rows(network, lower(network, [], set(), rng), rng, family)


def agree(found: Drawn, seed: int) -> None:
    """Check that the program gives the expected output, both in aligned buffers and between canaries in its arena."""
    program, size = pack(found.program), [found.expected.size]
    (plain,) = host.run(program, found.inputs, size)
    np.testing.assert_array_equal(plain, found.expected, err_msg=f"seed {seed}")
    (watched,) = host.run_guarded(program, found.arena, found.inputs, size, seed)
    np.testing.assert_array_equal(watched, found.expected, err_msg=f"seed {seed}, in the arena")


def by_row(seed: int, family: Family = Family.GENERIC) -> Drawn:
    """Draw one or two groups of rows, with iterative operators where possible."""
    rng = np.random.default_rng(seed)
    network = networks.draw(rng, int(rng.integers(1, 7)))
    cuts = [len(network.ops) // 2] if len(network.ops) > 3 and rng.random() < 0.5 else []
    iterative = {i for i, op in enumerate(network.ops) if can_iterate(network, op)}
    return in_rows(network, lower(network, cuts, iterative, rng), rng, family)


def deep(seed: int, family: Family = Family.GENERIC) -> Drawn:
    """Draw convolutions of many channels, which suit packed kernels."""
    rng = np.random.default_rng(seed)
    network = networks.draw_deep(rng, int(rng.integers(1, 5)))
    return one_group(network, rng, family)


def depthwise(seed: int, family: Family = Family.GENERIC) -> Drawn:
    """Draw a depthwise convolution with a window for which kernels have a separate inner loop."""
    rng = np.random.default_rng(seed)
    network = networks.draw_depthwise(rng)
    return one_group(network, rng, family)


@functools.lru_cache(512)
def tiled(seed: int, family: Family = Family.GENERIC, *, by_pixel: bool = False) -> Drawn:
    """Draw a network in tiled groups that no planner would choose. by_pixel: operators make single pixels."""
    target = _target(family)
    for attempt in itertools.count():
        rng = random.Random(f"{seed} {attempt}")
        data = build(expanding(seed + attempt) if seed % 3 == 0 else mobile(rng.randrange(1 << 16), most=3))
        settings = random_settings(rng)
        if by_pixel:
            settings = Settings(tile=1, at_once=settings.at_once, group_channels=0)
        if seed % 3 == 0:
            settings = replace(settings, group_channels=rng.choice((1, 2, 3, 5)))
        with forced(settings, seed):
            converted = oracle.convert(data, ConversionOptions(seconds=0, target=target, reorder=False))
        if (
            converted
            and (found := _whole(data, converted[0], seed, rng))
            and any(g.stripes for g in found.program.groups)
        ):
            return found
    raise AssertionError


@functools.lru_cache(512)
def two_rows(seed: int, family: Family = Family.GENERIC) -> Drawn:
    """Draw a network whose kernels for the DSP extension compute two rows at once."""
    target = _target(family)
    options = ConversionOptions(
        seconds=0, target=target, reorder=False, tiles=None, wide=family is Family.DSP, two_rows=True, reverse=False
    )
    for attempt in itertools.count():
        rng = random.Random(f"{seed} {attempt}")
        data = build(separable(rng.randrange(1 << 16)))
        converted = oracle.convert(data, options)
        found = converted and _whole(data, converted[0], seed, rng)
        if found and (family is not Family.DSP or parts(found.program) >> Part.TWO_ROWS & 1):
            return found
    raise AssertionError


def _target(family: Family) -> str:
    return next((name for name, other in TARGETS.items() if other is family), "generic")


def _whole(data: bytes, rewritten: bytes, seed: int, rng: random.Random) -> Drawn | None:
    """Return a rewritten model's program and TFLM's output of the original, if the program is the whole model."""
    model = read(rewritten)
    found = regions.regions(model)
    if len(found) != 1 or len(model.graph.ops) != 1 or len(model.graph.outputs) != 1:
        return None
    inputs = oracle.inputs_of(model.graph, seed)[rng.choice((0, 0, 0, 4))]
    (expected,) = oracle.run(oracle.original(data), inputs, 1)
    flat = [np.ascontiguousarray(values).view(np.int8).ravel() for values in (*inputs, expected)]
    return Drawn(unpack(found[0].program), regions.placement(model, found[0]), flat[:-1], flat[-1])


def pixels(seed: int, family: Family = Family.GENERIC) -> Drawn:
    """Draw a network that is computed pixel by pixel, for which some kernels have separate code."""
    return tiled(seed, family, by_pixel=True)


def drawn(seed: int) -> Drawn:
    """Draw groups of rows or tiled groups."""
    return (tiled if seed % 2 else by_row)(seed)
