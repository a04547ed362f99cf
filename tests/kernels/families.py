"""Families of operator kinds, for tests that cover all kinds."""

from __future__ import annotations

from tflm_memopt.ops.kinds import KINDS, Kind
from tflm_memopt.ops.rowop import FLOAT_BYTES

FLOAT = tuple(
    kind
    for kind, traits in KINDS.items()
    if traits.reads == FLOAT_BYTES and (traits.writes == FLOAT_BYTES or traits.operands == 2)
)
BINARY = tuple(
    kind for kind, traits in KINDS.items() if traits.elementwise and traits.operands == 2 and kind not in FLOAT
)
BINARY_INT8 = tuple(kind for kind in BINARY if KINDS[kind].reads == 1)
MAPPED_S16 = (Kind.LEAKY_RELU_S16, Kind.CURVE_S16)
CONVERTED = {
    kind: (traits.reads, traits.writes)
    for kind, traits in KINDS.items()
    if traits.elementwise and traits.operands == 1 and kind not in (Kind.LOOKUP, *MAPPED_S16, *FLOAT)
}
"""Bytes per element of the input and of the output."""
