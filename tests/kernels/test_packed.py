"""Compare packed kernels with the naive reference: their C twins here, the cores' own in tests/cores."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from conftest import examples
from kernels import networks
from kernels.drawn import Drawn, by_row, deep, pixels, tiled
from kernels.networks import random_shape
from kernels.packings import count, packed
from kernels.programs import lower
from kernels.test_kernels import agree, single
from models import Net
from property.forced import forced
from property.oracle import convert

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.lower.program import HEADER, OP, TENSOR, ProgramOp
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.model.reader import read
from tflm_memopt.ops import packings
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import Family, Packing
from tflm_memopt.plan.plan import Group
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.runtime import host, regions

FAMILIES = [family for family in Family if family is not Family.GENERIC]
SEEDS = range(examples(200))
INT32_MIN = -(1 << 31)
NAMES = {Kind.CONV: ("CONV", "DENSE"), Kind.DEPTHWISE: ("DEPTHWISE",), Kind.ADD: ("ADD",)}
"""Suffixes of the names of a kind's packings."""


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", [Kind.CONV, Kind.DEPTHWISE, Kind.ADD])
def test_operator(family: Family, kind: Kind) -> None:
    """Odd shapes, any window, all remainders of channels and columns, and extreme scales and zero points."""
    done: set[Packing] = set()
    for seed in SEEDS:
        rng = np.random.default_rng((int(kind), seed))
        height, width, channels = random_shape(rng)
        if kind is Kind.DEPTHWISE:
            channels = 1 if seed % 3 == 0 else int(rng.integers(1, 50))
        shape = (height, width, channels)
        op, out = networks.operator(rng, kind, (0, 1) if kind is Kind.ADD else (0,), shape, 2)
        if kind is Kind.ADD and seed % 2:
            op = with_half(op, seed // 2 % 2)
        network = single(op, shape, out)
        if kind is Kind.CONV and seed % 8 == 1:
            network = networks.draw_deep(rng, 1 + seed % 3)
        lowered = packed(lower(network, [], set(), rng), family)
        agree(network, lowered, rng, seed)
        done |= {op.packing for op in lowered.program.ops if op.packing and op.kind is kind}
    own = {p for p in packings.PACKINGS[family] if p.name.endswith(NAMES[kind])}
    of_one_channel = {p for p in packings.PACKINGS[family] if kind is Kind.DEPTHWISE and p.name.endswith("CONV")}
    assert done == own | of_one_channel


def with_half(op: ProgramOp, operand: int) -> ProgramOp:
    """Give one operand, or both, a scale of exactly one half."""
    assert op.multipliers is not None and op.shifts is not None
    multipliers, shifts = op.multipliers.copy(), op.shifts.copy()
    multipliers[operand], shifts[operand] = 1 << 30, 0
    return dataclasses.replace(op, multipliers=multipliers, shifts=shifts)


@pytest.mark.parametrize("family", FAMILIES)
def test_networks(family: Family) -> None:
    """Groups of rows and tiled groups mix packed and other operators, and the program survives a round trip."""
    done = 0
    for seed in range(examples(30)):
        draw = (deep, pixels if seed % 3 == 0 else tiled, by_row, tiled)[seed % 4]
        found = draw(seed, family)
        agree_drawn(found, seed)
        program = pack(found.program)
        assert pack(unpack(program)) == program
        done += count(found.program)
    assert done > examples(10)


def agree_drawn(found: Drawn, seed: int) -> None:
    (got,) = host.run_guarded(pack(found.program), found.arena, found.inputs, [found.expected.size], seed)
    np.testing.assert_array_equal(got, found.expected, err_msg=f"seed {seed}")


@pytest.mark.parametrize("kind", [Kind.CONV, Kind.DEPTHWISE])
def test_constants_for_vectors_are_checked(kind: Kind) -> None:
    """Shifts are 1 to 22, all weights and scales are present, and programs for other cores have none of these
    constants.
    """
    rng = np.random.default_rng(2)
    op, out = networks.operator(rng, kind, (0,), (6, 6, 6), 2)
    network = single(op, (6, 6, 6), out)
    program = packed(lower(network, [], set(), rng), Family.RVV).program
    (op,) = program.ops
    sizes = ([216], [int(np.prod(out))])
    assert op.packing and op.scales is not None and host.check(pack(program), *sizes) is host.Status.OK
    for right, expected in ((0, host.Status.OP), (1, host.Status.OK), (22, host.Status.OK), (23, host.Status.OP)):
        scales = op.scales.copy()
        scales[2 * out[2] :].view("<i2")[0] = right
        other = dataclasses.replace(op, scales=scales)
        assert host.check(pack(dataclasses.replace(program, ops=(other,))), *sizes) is expected, right
    for family in (Family.DSP, Family.MVE, Family.GENERIC):
        assert host.check(pack(dataclasses.replace(program, target=family)), *sizes) is host.Status.OP
    for field in ("weights", "bias", "accumulator"):
        image = bytearray(pack(program))
        np.frombuffer(image, OP, 1, HEADER.itemsize + len(program.tensors) * TENSOR.itemsize)[field] = len(image) - 4
        assert host.check(bytes(image), *sizes) is host.Status.OP, field


def test_a_program_for_vectors_has_no_others_packings() -> None:
    done = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        op, out = networks.operator(rng, Kind.ADD, (0, 1), (3, 3, 2), 2)
        add = packed(lower(single(op, (3, 3, 2), out), [], set(), rng), Family.DSP).program
        if count(add):
            assert host.check(pack(add), [18, 18], [18]) is host.Status.OK
            assert host.check(pack(dataclasses.replace(add, target=Family.RVV)), [18, 18], [18]) is host.Status.OP
            done += 1
    assert done


def test_an_addition_without_an_operand_that_is_shifted_alone_is_refused() -> None:
    """Damaged additions: one has scales that TFLM never makes, one shifts to the right."""
    rng = np.random.default_rng(0)
    op, out = networks.operator(rng, Kind.ADD, (0, 1), (3, 3, 2), 2)
    program = packed(lower(single(op, (3, 3, 2), out), [], set(), rng), Family.DSP).program
    (add,) = program.ops
    assert add.packing and add.scales is not None
    assert host.check(pack(program), [18, 18], [18]) is host.Status.OK
    for at, value in ((1, 3 << 30), (3, 22)):
        scales = add.scales.copy()
        for operand in (0, 4):
            if scales[1 + operand] == INT32_MIN:
                scales[at + operand] = np.int32(value - (1 << 32 if value >> 31 else 0))
        damaged = dataclasses.replace(add, scales=scales)
        changed = dataclasses.replace(program, ops=(damaged,))
        assert host.check(pack(changed), [18, 18], [18]) is host.Status.OP


def test_windows_of_3x3() -> None:
    """Helium has a kernel for few channels and 3x3 windows only; it is refused for others."""
    for seed in range(examples(30)):
        rng = np.random.default_rng(seed)
        network = networks.draw_depthwise(rng)
        lowered = packed(lower(network, [], set(), rng), Family.MVE)
        (op,) = lowered.program.ops
        assert op.packing and op.packing is Packing.MVE_DEPTHWISE
        agree(network, lowered, rng, seed)
        sizes = [[int(np.prod(shape))] for shape in network.shapes]
        other = dataclasses.replace(lowered.program, ops=(dataclasses.replace(op, activation=(-128, 126)),))
        few = network.shapes[0][2] < 16
        assert host.check(pack(other), *sizes) is (host.Status.OP if few else host.Status.OK), seed


@pytest.mark.parametrize(("target", "tile"), [("cortex-m4", 5), ("cortex-m55", 4)])
def test_the_last_tile_of_a_row_needs_no_more_scratch_than_the_others(target: str, tile: int) -> None:
    """A full tile is computed in two parts to avoid a remainder of one pixel; the last tile would need only one
    part.
    """
    net = Net()
    data = net.model(net.conv2d(net.input((1, 6, 2 * tile - 1, 16)), 16, kernel=(3, 3), out=(0.4, -5)))
    with forced(Settings(tile=tile, group_channels=0), 1):
        converted = convert(data, ConversionOptions(seconds=0, target=target))
    assert converted is not None
    model = read(converted[0])
    (region,) = regions.regions(model)
    steps = [step for step in converted[1].plan.steps if isinstance(step, Group)]
    assert {stage.nest.tile for step in steps for stage in step.stages} == {tile}
    inputs = [np.arange(6 * (2 * tile - 1) * 16).astype(np.int8)]
    arena = regions.placement(model, region)
    sizes = [model.graph.tensors[t].nbytes for t in region.outputs]
    (plain,) = host.run(region.program, inputs, sizes)
    (watched,) = host.run_guarded(region.program, arena, inputs, sizes, 1)
    np.testing.assert_array_equal(watched, plain)


def test_a_dense_layer_has_one_pixel_in_any_tile() -> None:
    net = Net()
    x = net.mean(net.conv2d(net.input((1, 8, 8, 8)), 24, kernel=(3, 3), out=(0.4, -5)), (1, 2), out=(0.1, 3))
    data, tiled = net.model(net.fully_connected(x, 12)), set[int]()
    for seed in range(6):
        with forced(Settings(tile=5, group_channels=0), seed):
            converted = convert(data, ConversionOptions(seconds=0, target="cortex-m4"))
        assert converted is not None
        planned, model = converted[1], read(converted[0])
        dense = {key for key, op in planned.graph.ops.items() if op.packing is Packing.DSP_DENSE}
        steps = [step for step in planned.plan.steps if isinstance(step, Group)]
        tiled |= {stage.nest.tile for step in steps for stage in step.stages if stage.op in dense}
        for region in regions.regions(model):
            sizes = [model.graph.tensors[t].nbytes for t in (*region.inputs, *region.outputs)]
            host.run(region.program, [np.zeros(sizes[0], np.int8)], sizes[1:])
    assert 5 in tiled
