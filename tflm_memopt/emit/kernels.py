"""Determines which kernels and which parts of the executor a program needs (tmo/build.h)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tflm_memopt.lower.program import HEADER, OP
from tflm_memopt.ops.packing import Packing


@dataclass(frozen=True, slots=True)
class Needs:
    """Bit masks that state which operator types, weight orders and parts of the executor some programs need. Bit n of
    the masks `kinds`, `packings` and `parts` stands for the enumeration's member with the value n.
    """

    kinds: int = 0
    packings: int = 0
    parts: int = 0


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
