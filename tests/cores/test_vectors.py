"""The library on RISC-V vectors (TMO_RVV): whole models, the same bytes at each length of vectors, and instructions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conftest import EXAMPLE, examples, optimized
from cores.cases import Case, model_cases, run
from cores.core import CORES, Core, missing_tools, vectors
from cores.draws import DRAWS, converted_cases

from tflm_memopt.ops.packing import Family

pytestmark = [
    pytest.mark.slow, pytest.mark.skipif(bool(missing_tools(CORES["rv32v"])), reason=missing_tools(CORES["rv32v"]))
]  # fmt: skip
LONGER = (256, 512)
"""Bits; CORES has the core with 128."""


def core(vlen: int) -> Core:
    return replace(CORES["rv32v"], options=vectors(vlen))


@pytest.mark.parametrize("vlen", LONGER)
def test_longer_vectors_have_the_same_bytes(vlen: int) -> None:
    seeds = range(examples(20))
    drawn = (draw(seed, Family.GENERIC) for draw in DRAWS for seed in seeds)
    cases: list[Case] = [case for case in drawn if case]
    cases += [case for seed in seeds for case in converted_cases(seed, "generic")]
    outcomes = run(core(vlen), cases)
    assert len(outcomes) > examples(40)
    assert not [o for o in outcomes if not o.right or o.stack > CORES["rv32v"].most_stack]


def test_fewer_instructions_the_longer_they_are() -> None:
    """On the example, whose layers have 8 to 64 channels."""
    cases = model_cases(optimized(EXAMPLE))
    spent = []
    for one in (CORES["rv32"], CORES["rv32v"], *map(core, LONGER)):
        outcomes = run(one, cases)
        assert all(o.right for o in outcomes)
        spent.append(sum(o.instructions for o in outcomes))
    assert spent == sorted(spent, reverse=True)
    assert spent[1] <= 0.4 * spent[0]
