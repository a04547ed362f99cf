"""Kinds of operators that tests try one after the other."""

from __future__ import annotations

from tflm_memopt.ops.kinds import KINDS, Channels

BINARY = tuple(kind for kind, traits in KINDS.items() if traits.elementwise and traits.operands == 2)
BINARY_INT8 = tuple(kind for kind in BINARY if KINDS[kind].reads == 1)
CONVERTED = {
    kind: (traits.reads, traits.writes)
    for kind, traits in KINDS.items()
    if traits.elementwise and traits.channels is Channels.ANY
}
"""Bytes of an element that is read, and of the one that is written."""
