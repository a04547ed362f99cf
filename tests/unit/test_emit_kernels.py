"""The flags of a build with the kernels of one model."""

from __future__ import annotations

import pytest
from conftest import EXAMPLE, optimized, thinned

from tflm_memopt.emit.kernels import kernel_flags
from tflm_memopt.lower.program import unpack
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.regions import regions


def bits(flag: str, name: str) -> set[int]:
    start, end = f"-D{name}=0x", "ull"
    assert flag.startswith(start) and flag.endswith(end)
    mask = int(flag[len(start) : -len(end)], 16)
    return {bit for bit in range(64) if mask >> bit & 1}


@pytest.mark.parametrize("target", thinned(["generic", "cortex-m4", "cortex-m55"], 1))
def test_a_bit_for_each_kernel(target: str) -> None:
    programs = [region.program for region in regions(read(optimized(EXAMPLE, target)))]
    ops = [op for program in programs for op in unpack(program).ops]
    packed = {op.packed.packing for op in ops if op.packed}
    kinds, packings = kernel_flags(programs)
    assert bits(kinds, "TMO_KINDS") == {op.kind for op in ops if not op.packed}
    assert bits(packings, "TMO_PACKINGS") == packed
    assert bool(packed) == (target != "generic")
