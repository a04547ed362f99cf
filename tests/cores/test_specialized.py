"""Model-specific code (`--emit c-specialized`) on an emulated Cortex-M4 gives TFLM's bytes in fewer instructions."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import KEYWORDS, RESNET, ROOT, examples
from cores.core import emulate, missing_tools
from property.forced import mobile
from property.networks import build
from specialized_nets import NETS

from tflm_memopt.errors import UsageError

sys.path.insert(0, str(ROOT / "benchmarks"))
import specialized

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_tools(specialized.CORE)), reason=missing_tools(specialized.CORE)),
]
INSTRUCTIONS = 0.87
"""Largest allowed ratio of instructions: specialized module to library-run module."""
MORE_FLASH = 26_000
"""Largest allowed code size of a model's own kernels, in bytes; the weights take the same space either way."""


@pytest.mark.parametrize("name", NETS)
def test_each_form_has_tflm_s_bytes(name: str) -> None:
    plain, own = (specialized.measure(files, name) for files in specialized.modules(NETS[name](), name))
    assert own.instructions < plain.instructions


def test_random_networks_have_tflm_s_bytes(tmp_path: Path) -> None:
    ran = 0
    for seed in range(examples(2)):
        try:
            *_, files = specialized.modules(build(mobile(seed)), "net")
        except UsageError:  # some operators stay builtin
            continue
        assert emulate(specialized.CORE, specialized.image(files, "net", tmp_path)) == "right\n", seed
        ran += 1
    assert ran >= examples(1)


@pytest.mark.parametrize("path", [KEYWORDS, RESNET], ids=lambda path: path.stem)
def test_models_take_fewer_instructions_and_little_more_flash(path: Path) -> None:
    row = specialized.row(path)
    assert row.specialized.instructions <= INSTRUCTIONS * row.plain.instructions
    assert row.specialized.cycles < row.plain.cycles
    assert row.specialized.flash <= row.plain.flash + MORE_FLASH
