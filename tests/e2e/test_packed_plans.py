"""Plans for the kernels of a target need more than generic ones by what those kernels take for themselves only."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import real_models, thinned

import tflm_memopt
from tflm_memopt.plan.layout.drafts import TFLM_ALIGN
from tflm_memopt.plan.plan import Role


@pytest.mark.parametrize("path", thinned(real_models(), 1), ids=lambda path: path.stem)
def test_a_generic_plan_needs_no_more_than_a_packed_one_without_its_scratch(path: Path) -> None:
    """The packed plan's buffers, but for the scratch, where they are, would be a generic plan."""
    data = path.read_bytes()
    generic = tflm_memopt.optimize(data, int8_io=True, max_macs=1).plan
    packed = tflm_memopt.optimize(data, int8_io=True, max_macs=1, target="cortex-m4").plan
    if generic is None or packed is None:
        assert generic is packed
        return
    top = max(offset + b.nbytes for b, offset in packed.placed() if b.role is not Role.SCRATCH)
    assert generic.head <= -(-top // TFLM_ALIGN) * TFLM_ALIGN
