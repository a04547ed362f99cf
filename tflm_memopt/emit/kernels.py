"""Determines which kernels and executor parts of the C library a program needs (tmo/build.h)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tflm_memopt.lower.program import HEADER, OP
from tflm_memopt.ops.packing import Packing


@dataclass(frozen=True, slots=True)
class Needs:
    """Parts of the C library that some programs need. Bit n of each mask stands for the enumeration's value n."""

    kinds: int = 0
    """Operator types (TMO_OP_*) that occur with unpacked weights."""
    packings: int = 0
    """Orders of packed weights (TMO_PACKING_*) that occur."""
    parts: int = 0
    """Parts of the executor (TMO_PART_*) that run the programs."""


def needs(programs: Iterable[bytes]) -> Needs:
    kinds = packings = parts = 0
    for program in programs:
        header = np.frombuffer(program, HEADER, 1)[0]
        ops = np.frombuffer(program, OP, int(header["n_ops"]), int(header["ops"]))
        packed = ops["packing"] != Packing.NONE
        kinds |= _mask(ops["kind"][~packed])
        packings |= _mask(ops["packing"][packed])
        parts |= int(header["parts"])
    return Needs(kinds, packings, parts)


def _mask(values: Iterable[int]) -> int:
    return sum(1 << int(value) for value in set(values))
