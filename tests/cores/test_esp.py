"""Test that the C library runs as many instructions around ESP-NN's kernels as analysis/esp.json states.

ESP-NN's functions are empty in this test, so that only the library's own instructions are counted. The test runs on an
emulated RV32.
"""

from dataclasses import replace

import pytest
from conftest import KEYWORDS
from cores.cases import model_cases, run
from cores.core import CORES, ROOT, missing_tools

import tflm_memopt
from tflm_memopt.analysis import esp

FLAGS = ("-isystem", str(ROOT / "tests/kernels/backends"), "-DTMO_ESP_NN", "-DVENDOR_NOTHING")
CORE = replace(CORES["rv32"], flags=(*CORES["rv32"].flags, *FLAGS))


@pytest.mark.slow
@pytest.mark.skipif(bool(missing_tools(CORE)), reason=missing_tools(CORE))
@pytest.mark.parametrize("without", [(), ("tiles",)], ids=["pixels", "rows"])
def test_instructions_around_kernels_are_in_their_range(without: tuple[str, ...]) -> None:
    made = tflm_memopt.optimize(KEYWORDS, target="esp-nn", without=without)
    outcomes = run(CORE, model_cases(made.model, by_operator=True))
    counts = [n for outcome in outcomes for n in outcome.operators]
    inside = [(work, n) for work, n in zip(made.work, counts, strict=True) if esp.packed(work)]
    assert len(inside) >= 3
    spans = [esp.around(work) for work, _ in inside]
    counted = sum(n for _, n in inside)
    assert sum(low for low, _ in spans) <= counted <= sum(high for _, high in spans)
