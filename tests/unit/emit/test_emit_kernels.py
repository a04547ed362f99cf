"""The file NAME_library.c compiles exactly the parts of the library that a model needs."""

import ctypes
import dataclasses
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from compiling import part_of
from conftest import EXAMPLE, ROOT, optimized
from kernels.drawn import depthwise
from kernels.samples import good, tiled
from unit.command import small

import tflm_memopt
from tflm_memopt.emit.kernels import Needs, needs
from tflm_memopt.format.codes import Part
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import Family
from tflm_memopt.runtime import host
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
    packed = {op.packing for op in ops if op.packing}
    found = needs_of(model)
    assert bits(found.kinds) == {op.kind for op in ops if not op.packing}
    assert bits(found.packings) == packed
    assert bool(packed) == (target != "generic")


def build_without(part: Part, folder: Path) -> Callable[[bytes], host.Status]:
    if (compiler := shutil.which("gcc") or shutil.which("clang")) is None:
        pytest.skip("needs gcc or clang")
    sources, built = ROOT / "custom_ops", folder / "check_build.so"
    every = (1 << 64) - 1
    flags = part_of(Needs(every ^ 1 << Kind.OWN, every, sum(1 << other for other in Part if other is not part)))
    command = [compiler, "-shared", "-fPIC", *flags, f"-I{sources / 'include'}"]
    subprocess.run([*command, str(sources / "src/tmo_check_build.c"), "-o", str(built)], check=True)
    check = ctypes.CDLL(str(built)).tmo_check_build

    def said(program: bytes) -> host.Status:
        image = np.zeros(len(program) + 16, np.uint8)
        image = image[-image.ctypes.data % 16 :][: len(program)]
        image[:] = np.frombuffer(program, np.uint8)
        sizes = map(ctypes.c_size_t, (len(program), 1, 1, 1 << 30))
        return host.Status(check(ctypes.c_void_p(image.ctypes.data), *sizes))

    return said


def test_a_build_without_tiles_refuses_groups_of_one_stripe(tmp_path: Path) -> None:
    said = build_without(Part.TILES, tmp_path)
    assert said(pack(good())) is host.Status.OK
    (group,) = tiled().groups
    for stripes in (1, 2):
        program = pack(dataclasses.replace(tiled(), groups=(dataclasses.replace(group, stripes=stripes),)))
        assert said(program) is host.Status.KERNEL


def test_a_build_refuses_what_needs_more_taps_than_it_has(tmp_path: Path) -> None:
    said, asked = build_without(Part.TAPS, tmp_path), set()
    for seed in range(24):
        drawn = depthwise(seed, Family.MVE).program
        (op,) = drawn.ops
        window = dataclasses.replace(op.window, dilation_w=2)
        others = ({"activation": (-128, 100)}, {"output_zero_point": -127}, {"window": window})
        for other in (op, *(dataclasses.replace(op, **fields) for fields in others)):
            program = pack(dataclasses.replace(drawn, ops=(other,)))
            needed = Part.TAPS in bits(needs([program]).parts)
            assert said(program) is (host.Status.KERNEL if needed else host.Status.OK), seed
            assert needed == (other is not op)
            asked.add(needed)
    assert asked == {True, False}


PARTS = [("stream", Part.STREAM), ("external", Part.EXTERNAL), ("arena", None)]


@pytest.mark.parametrize(("where", "part"), PARTS)
def test_a_bit_for_each_part(where: str, part: Part | None) -> None:
    data = small()
    everything = needs_of(tflm_memopt.optimize(data, input=where, max_macs=1.1).model)
    by_row = needs_of(tflm_memopt.optimize(data, input=where, without=("tiles",)).model)
    assert bits(everything.parts) & {Part.STREAM, Part.EXTERNAL} == ({part} if part else set())
    assert Part.TILES in bits(everything.parts)
    assert not {Part.TILES, Part.CHANNEL_GROUPS} & bits(by_row.parts)
