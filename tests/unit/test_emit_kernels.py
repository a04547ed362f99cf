"""The flags, and the header, of a build of the library that has what a model needs."""

from __future__ import annotations

import re

import pytest
from conftest import EXAMPLE, ROOT, optimized, thinned

import tflm_memopt
from tflm_memopt.emit.kernels import Needs, Part, config_header, needs
from tflm_memopt.lower.program import unpack
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.regions import regions


def bits(mask: int) -> set[int]:
    return {bit for bit in range(64) if mask >> bit & 1}


def needs_of(model: bytes) -> Needs:
    return needs(region.program for region in regions(read(model)))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["generic", "cortex-m4", "cortex-m55"])
def test_a_bit_for_each_kernel(target: str) -> None:
    model = optimized(EXAMPLE, target)
    ops = [op for region in regions(read(model)) for op in unpack(region.program).ops]
    packed = {op.packed.packing for op in ops if op.packed}
    found = needs_of(model)
    assert bits(found.kinds) == {op.kind for op in ops if not op.packed}
    assert bits(found.packings) == packed
    assert bool(packed) == (target != "generic")


PARTS = [("stream", Part.STREAM), ("external", Part.EXTERNAL), ("arena", None)]
"""Where the input is, and which part of the executor that takes."""


@pytest.mark.parametrize(("where", "part"), thinned(PARTS, 1))
def test_a_bit_for_each_part(where: str, part: Part | None) -> None:
    data = EXAMPLE.read_bytes()
    everything = needs_of(tflm_memopt.optimize(data, input=where, max_macs=1.1).model)
    by_row = needs_of(tflm_memopt.optimize(data, input=where, without=("tiles",)).model)
    assert bits(everything.parts) & {Part.STREAM, Part.EXTERNAL} == ({part} if part else set())
    assert Part.TILES in bits(everything.parts)
    assert not {Part.TILES, Part.GROUPS} & bits(by_row.parts)


def test_the_parts_are_those_of_the_library() -> None:
    header = (ROOT / "custom_ops/include/tmo/build.h").read_text(encoding="utf-8")
    assert re.findall(r"TMO_PART_(\w+) = (\d+),", header) == [(part.name, str(int(part))) for part in Part]


def test_programs_that_share_a_build() -> None:
    assert needs([]) == Needs()
    text = config_header("two", Needs(0x96, 0, 5))
    assert re.findall(r"#define (TMO_[KP]\w+) (\S+)", text) == list(Needs(0x96, 0, 5).defines.items())
