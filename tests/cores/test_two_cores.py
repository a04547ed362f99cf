"""Run programs on two emulated Cortex-M33, and compare the output bytes with the bytes that one core computes."""

import functools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import EXAMPLE, FLOAT_IO, KEYWORDS, ROOT
from cores.cases import Case, RunAs, model_cases, run
from cores.core import CORES, HERE, PAIR, Core, compile_flags, missing_tools

import tflm_memopt
from tflm_memopt.convert.describe import BARRIER

sys.path.insert(0, str(ROOT / "benchmarks"))
import two_cores

ESTIMATE = 0.05


@pytest.fixture(autouse=True)
def _tools() -> None:
    if reason := missing_tools(PAIR):
        pytest.skip(reason)


@functools.cache
def cases(path: Path = EXAMPLE, share: str | None = None) -> list[Case]:
    return model_cases(tflm_memopt.optimize(path.read_bytes(), cores=2, target=PAIR.target, share=share).model)


def both(given: list[Case]) -> list[Case]:
    return [replace(case, run_as=RunAs.BOTH) for case in given]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "share"), [(KEYWORDS, "1,1"), (FLOAT_IO, "0.8,1")])
def test_trained_models(path: Path, share: str) -> None:
    assert all(outcome.right for outcome in run(PAIR, both(cases(path, share))))


@pytest.mark.slow
def test_a_wrong_byte_of_either_core_is_seen() -> None:
    (case,) = cases()
    for run_as in (RunAs.FIRST, RunAs.SECOND):
        assert run(PAIR, [replace(case, run_as=run_as)])[0].right
    flipped = [e.copy() for e in case.expected]
    flipped[0].flat[0] ^= 1
    assert [o.wrong for o in run(PAIR, both([replace(case, expected=flipped)]))] == [1]


@pytest.mark.slow
def test_a_barrier_takes_what_the_report_says() -> None:
    result = tflm_memopt.optimize(EXAMPLE.read_bytes(), cores=2, target=PAIR.target)
    assert result.report.barriers
    alone, _ = two_cores.counted(CORES["m33"], cases(), RunAs.ALL)
    each, barrier = two_cores.shares(CORES["m33"], model_cases(result.model), result.report.barriers.count)
    assert result.report.barriers.instructions == BARRIER == barrier
    for (instructions, stack), said in zip(each, result.report.cores, strict=True):
        assert said.stack / 2 < stack <= said.stack
        assert instructions / alone == pytest.approx(said.share, abs=ESTIMATE)


@pytest.mark.slow
@pytest.mark.parametrize("core", [CORES[name] for name in ("m4", "m33", "rv32", "lx106")], ids=lambda core: core.name)
def test_a_share_is_counted_on_every_instruction_set(core: Core) -> None:
    if reason := missing_tools(core):
        pytest.skip(reason)
    (case,) = model_cases(tflm_memopt.optimize(EXAMPLE.read_bytes(), cores=2).model)
    if core.ram_bytes > 16 << 10:
        shared = [replace(case, run_as=run_as) for run_as in (RunAs.FIRST, RunAs.SECOND)]
        assert all(o.right and o.instructions > 0 for o in run(core, shared))
    source = (
        f'#include "{HERE.parents[1] / "custom_ops/include/tmo/spin.h"}"\nvoid wake(void *s) {{ tmo_spin_wake(s, 1); }}'
    )
    command = [core.prefix + "gcc", *compile_flags(core), "-xc", "-", "-S", "-o", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=True)
    assert any(fence in done.stdout for fence in ("dmb", "stl", "memw", "fence"))
