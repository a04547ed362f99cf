"""What a message between devices takes on a core, counted, beside what analysis/costs.py says of SEND and RECEIVE."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT
from cores.core import HERE, MEASURED, build, emulate, missing_tools, sources

from tflm_memopt.analysis.costs import Work, estimate, tables

LINKS = ROOT / "custom_ops/links"
LOOP = 200_000
SIZES = (8, 1008)
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", MEASURED)
def test_what_a_message_takes(name: str, tmp_path: Path) -> None:
    core = MEASURED[name]
    if missing := missing_tools(core):
        pytest.skip(missing)
    files = [HERE / "link_main.c", *(HERE / start for start in core.start), LINKS / "tmo_link.c", *sources()]
    build(core, files, tmp_path / "link.elf", [f"-I{HERE}", f"-I{LINKS}"])
    loop, *ticks = map(int, emulate(core, tmp_path / "link.elf").split())
    counted = [round(n * LOOP / loop) for n in ticks]
    kernels = tables()[core.known_as].kernels
    for number, taken in enumerate(counted):
        nbytes = SIZES[number // 2]
        kernel = ("SEND rows", "RECEIVE rows")[number % 2]
        said = estimate(kernels, Work(kernel, read=nbytes, firings=1))
        assert said == pytest.approx(taken, rel=0.2), (kernel, nbytes)
