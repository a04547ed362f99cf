"""Compare packed kernels with plain ones. C twins of packed kernels are tested here, the others in tests/cores."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from conftest import examples

from kernels import networks
from kernels.drawn import agree, by_row, deep, one_group, pixels, tiled, two_rows
from kernels.networks import random_shape
from kernels.packings import count, packed
from kernels.programs import lower, single
from tflm_memopt.lower.program import HEADER, OP, TENSOR, ProgramOp
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.ops import packings
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import Family, Packing
from tflm_memopt.runtime import host

FAMILIES = [family for family in Family if family is not Family.GENERIC]
SEEDS = range(max(50, examples(100)))
"""Number of random operators, which is enough to reach every packing."""
INT32_MIN = -(1 << 31)
NAMES = {Kind.CONV: ("CONV", "DENSE"), Kind.DEPTHWISE: ("DEPTHWISE",), Kind.ADD: ("ADD",)}
"""Suffixes of the names of a kind's packings."""


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", [Kind.CONV, Kind.DEPTHWISE, Kind.ADD])
def test_operator(family: Family, kind: Kind) -> None:
    """Test odd shapes, any window, all remainders of channels and columns, and extreme scales and zero points."""
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
        network = single(op, [*[shape] * len(op.inputs), out])
        if kind is Kind.CONV and seed % 8 == 1:
            network = networks.draw_deep(rng, 1 + seed % 3)
        found = one_group(network, rng, family)
        agree(found, seed)
        done |= {op.packing for op in found.program.ops if op.packing and op.kind is kind}
    own = {p for p in packings.PACKINGS[family] if p.name.endswith(NAMES[kind])}
    of_one_channel = {p for p in packings.PACKINGS[family] if kind is Kind.DEPTHWISE and p.name.endswith("CONV")}
    assert done == own | of_one_channel


def with_half(op: ProgramOp, operand: int) -> ProgramOp:
    """Give one operand, or both, a scale of exactly 1/2."""
    assert op.multipliers is not None and op.shifts is not None
    multipliers, shifts = op.multipliers.copy(), op.shifts.copy()
    multipliers[operand], shifts[operand] = 1 << 30, 0
    return dataclasses.replace(op, multipliers=multipliers, shifts=shifts)


@pytest.mark.parametrize("family", FAMILIES)
def test_networks(family: Family) -> None:
    """Groups of rows and tiled groups mix packed and other operators, and the program survives a round trip."""
    done = 0
    for seed in range(examples(30)):
        draw = (deep, pixels if seed % 3 == 0 else tiled, by_row, tiled, two_rows)[seed % 5]
        found = draw(seed, family)
        agree(found, seed)
        program = pack(found.program)
        assert pack(unpack(program)) == program
        done += count(found.program)
    assert done > examples(10)


@pytest.mark.parametrize("kind", [Kind.CONV, Kind.DEPTHWISE])
def test_constants_for_vectors_are_checked(kind: Kind) -> None:
    """Shifts must be 1 to 22, weights and scales complete, and programs for other cores must lack both."""
    rng = np.random.default_rng(2)
    op, out = networks.operator(rng, kind, (0,), (6, 6, 6), 2)
    network = single(op, [(6, 6, 6), out])
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


def test_an_addition_without_an_operand_that_is_shifted_alone_is_refused() -> None:
    """Two additions are damaged: one has scales that TFLM never makes, and one shifts to the right."""
    rng = np.random.default_rng(0)
    op, out = networks.operator(rng, Kind.ADD, (0, 1), (3, 3, 2), 2)
    program = packed(lower(single(op, [(3, 3, 2), (3, 3, 2), out]), [], set(), rng), Family.DSP).program
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
