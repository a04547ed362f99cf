"""Test the checker's own statement of the order in which kernels read and write, and the orders derived from
descriptions.
"""

from __future__ import annotations

from tflm_memopt.check.in_place import ELEMENT_BY_ELEMENT, PIXEL_BY_PIXEL
from tflm_memopt.ops.kinds import KINDS, Channels


def test_both_say_the_same() -> None:
    assert {k.name for k, t in KINDS.items() if t.elementwise and t.reads >= t.writes} == ELEMENT_BY_ELEMENT
    assert {k.name for k, t in KINDS.items() if t.channels is Channels.SUMMED and t.reads == 1} == PIXEL_BY_PIXEL
