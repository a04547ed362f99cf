"""Whole models give the right output bytes with RISC-V vectors (TMO_RVV) of any length."""

from dataclasses import replace

import pytest
from conftest import examples
from cores.cases import Case, run
from cores.core import CORES, Core, in_spike, missing_tools, vectors
from cores.draws import DRAWS, converted_cases, program_case
from models import Net
from property.oracle import assert_same_bytes, rewrite

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.ops.packing import Family, Packing

RV32V, SPIKE = CORES["rv32v"], in_spike(CORES["rv32v"], 64)
QEMU = [pytest.mark.slow, pytest.mark.skipif(bool(missing_tools(RV32V)), reason=missing_tools(RV32V))]
IN_SPIKE = [pytest.mark.slow, pytest.mark.skipif(bool(missing_tools(SPIKE)), reason=missing_tools(SPIKE))]
LONGER = (256, 512)
PROGRAMS = {"generic": Family.GENERIC, "rv32-v": Family.RVV}


def core(vlen: int) -> Core:
    return replace(RV32V, options=vectors(vlen))


EACH = [
    pytest.param(SPIKE, id="64", marks=IN_SPIKE),
    *(pytest.param(core(vlen), id=str(vlen), marks=QEMU) for vlen in LONGER),
]


@pytest.mark.parametrize("one", EACH)
@pytest.mark.parametrize("target", PROGRAMS)
def test_every_length_of_vectors_has_the_same_bytes(one: Core, target: str) -> None:
    seeds = range(examples(4))
    drawn = (program_case(draw, seed, PROGRAMS[target]) for draw in DRAWS for seed in seeds)
    cases: list[Case] = [case for case in drawn if case]
    cases += [case for seed in seeds for case in converted_cases(seed, target)]
    outcomes = run(one, cases)
    assert len(outcomes) > examples(8)
    assert not [o for o in outcomes if not o.right or o.stack > RV32V.most_stack]


def test_dilated_windows_in_whole_rows() -> None:
    net = Net()
    x = net.input((1, 9, 80, 16))
    for dilation in ((2, 1), (1, 2), (2, 3)):
        x = net.conv2d(x, 16, kernel=(3, 3), dilation=dilation, out=(0.4, -5))
    data = net.model(x)
    converted = rewrite(data, ConversionOptions(seconds=0, target="rv32-v", tiles=None))
    assert {op.packing for op in converted[1].graph.ops.values()} == {Packing.RVV_CONV}
    assert_same_bytes(data, converted[0], seed=1)
