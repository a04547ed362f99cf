"""Kernels for packed weights, in C instead of assembly, give the same bytes as kernels for any core."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from conftest import examples
from property.layers import Layer

from kernels.drawn import agree, alone, by_row, packed, pixels, tiled, two_rows
from tflm_memopt.format.codes import Part
from tflm_memopt.lower.parts import parts
from tflm_memopt.lower.program import HEADER, OP, TENSOR, Program
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.ops import packings
from tflm_memopt.ops.packing import Family, Packing
from tflm_memopt.runtime import host

FAMILIES = [family for family in Family if family is not Family.GENERIC]
INT32_MIN = -(1 << 31)


@pytest.mark.parametrize("family", FAMILIES)
def test_networks(family: Family) -> None:
    done: set[Packing] = set()
    in_place = 0
    for seed in range(examples(120)):
        draw = (packed, pixels, packed, tiled, packed, two_rows, packed, by_row)[seed % 8]
        found = draw(seed, family)
        agree(found, seed)
        program = pack(found.program)
        assert pack(unpack(program)) == program
        done |= {op.packing for op in found.program.ops if op.packing}
        in_place += parts(found.program) >> Part.DSP_WINDOWS & 1
    assert (in_place > 0) == (family is Family.DSP)
    assert done == set(packings.PACKINGS[family])


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_program_lists_the_kernel_of_its_dense_layer(per_channel: bool) -> None:
    program = alone(Layer("dense", channels=4, flag=per_channel), (1, 1, 1, 16), Family.DSP).program
    found = {part for part in (Part.DSP_ONE_SCALE, Part.DSP_TRIPLES) if parts(program) >> part & 1}
    assert found == {Part.DSP_TRIPLES if per_channel else Part.DSP_ONE_SCALE}


@pytest.mark.parametrize("kind", ["conv", "depthwise"])
def test_constants_for_vectors_are_checked(kind: str) -> None:
    found = alone(Layer(kind, channels=6), (1, 6, 6, 6), Family.RVV)
    program, sizes = found.program, ([216], [found.expected.size])
    (op,) = program.ops
    assert op.packing and op.scales is not None and host.check(pack(program), *sizes) is host.Status.OK
    for right, expected in ((0, host.Status.OP), (1, host.Status.OK), (22, host.Status.OK), (23, host.Status.OP)):
        scales = op.scales.copy()
        scales[2 * program.tensors[op.output].channels :].view("<i2")[0] = right
        other = dataclasses.replace(op, scales=scales)
        assert host.check(pack(dataclasses.replace(program, ops=(other,))), *sizes) is expected, right
    for family in (Family.DSP, Family.MVE, Family.GENERIC):
        assert host.check(pack(dataclasses.replace(program, target=family)), *sizes) is host.Status.OP
    for field, at in (("weights", None), ("bias", None), ("scratch", program.workspace // 4 * 4 - 4)):
        image = bytearray(pack(program))
        record = np.frombuffer(image, OP, 1, HEADER.itemsize + len(program.tensors) * TENSOR.itemsize)
        record[field] = at or len(image) - 4
        assert host.check(bytes(image), *sizes) is host.Status.OP, field


def test_damage_of_convolutions_that_read_in_place_is_refused() -> None:
    drawn = (pixels(seed, Family.DSP) for seed in itertools.count())
    found = next(one for one in drawn if parts(one.program) >> Part.DSP_WINDOWS & 1)
    program, sizes = found.program, ([one.size for one in found.inputs], [found.expected.size])
    assert host.check(pack(program), *sizes) is host.Status.OK
    is_window = [op.packing is Packing.DSP_DENSE and op.window.kernel_h * op.window.kernel_w > 1 for op in program.ops]
    at = is_window.index(True)
    op, tensors = program.ops[at], program.tensors

    def damaged(number: int = 0, channels: int = 0, **changes: Any) -> Program:
        changed = list(tensors)
        if channels:
            changed[number] = dataclasses.replace(tensors[number], channels=channels)
        ops = (*program.ops[:at], dataclasses.replace(op, **changes), *program.ops[at + 1 :])
        return dataclasses.replace(program, ops=ops, tensors=tuple(changed))

    for wrong in (
        damaged(tile=2),
        damaged(window=dataclasses.replace(op.window, kernel_h=4, kernel_w=13)),
        damaged(accumulator=program.workspace // 4 * 4 - 4),
        damaged(accumulator=op.accumulator + 2),
        damaged(op.inputs[0], tensors[op.inputs[0]].channels - 4),
        damaged(op.output, tensors[op.output].channels - 1),
        damaged(op.output, 2),
    ):
        assert host.check(pack(wrong), *sizes) is host.Status.OP


def test_an_addition_without_an_operand_that_is_shifted_alone_is_refused() -> None:
    program = alone(Layer("add", other=1), (1, 3, 3, 2), Family.DSP, inputs=2).program
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
