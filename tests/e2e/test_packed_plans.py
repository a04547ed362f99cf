"""A plan for a target's kernels needs more memory than a generic plan only for those kernels' own scratch."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import OWN_MODELS, thinned

import tflm_memopt
from tflm_memopt.plan.layout.drafts import TFLM_ALIGN
from tflm_memopt.plan.plan import Role


def headroom(path: Path) -> int | None:
    """Return how far the generic plan stays below the packed plan without its scratch, in bytes; None without plans.

    The packed plan's buffers, at the same addresses but without scratch, form a valid generic plan.
    """
    data = path.read_bytes()
    generic = tflm_memopt.optimize(data, int8_io=True, max_macs=1).plan
    packed = tflm_memopt.optimize(data, int8_io=True, max_macs=1, target="cortex-m4").plan
    if generic is None or packed is None:
        assert generic is packed
        return None
    top = max(offset + b.nbytes for b, offset in packed.placed() if b.role is not Role.SCRATCH)
    return -(-top // TFLM_ALIGN) * TFLM_ALIGN - generic.head


@pytest.mark.parametrize("path", thinned(OWN_MODELS[:3], 1), ids=lambda path: path.stem)
def test_a_generic_plan_needs_no_more_than_a_packed_one_without_its_scratch(path: Path) -> None:
    found = headroom(path)
    assert found is None or found >= 0
