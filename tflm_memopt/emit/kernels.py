"""Determines which kernels and executor parts of the C library a program needs (tmo/build.h)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.codes import Flags, InputPlace, RowLayout
from tflm_memopt.lower.program import GROUP, HEADER, OP, TENSOR
from tflm_memopt.ops.packing import Packing


class Part(IntEnum):
    """TMO_PART_*: optional parts of the executor."""

    TILES = 0
    CHANNEL_GROUPS = 1
    ITERATIVE = 2
    STREAM = 3
    EXTERNAL = 4
    REVERSED = 5
    TAPS = 6
    STATE = 7
    LINK = 8
    NIBBLES = 9


@dataclass(frozen=True, slots=True)
class Needs:
    """Library parts that some programs need. In the masks, bit n stands for value n of the enumeration."""

    kinds: int = 0
    """Mask of TMO_OP_* for operators that are not packed."""
    packings: int = 0
    """Mask of TMO_PACKING_* for packed operators."""
    parts: int = 0
    """Mask of TMO_PART_*."""


def needs(programs: Iterable[bytes]) -> Needs:
    """Return what these programs need together."""
    kinds = packings = parts = 0
    for program in programs:
        header = np.frombuffer(program, HEADER, 1)[0]
        tensors, ops, groups = (
            np.frombuffer(program, record, int(header[f"n_{table}"]), int(header[table]))
            for table, record in (("tensors", TENSOR), ("ops", OP), ("groups", GROUP))
        )
        packed = ops["packing"] != Packing.NONE
        kinds |= _mask(ops["kind"][~packed])
        packings |= _mask(ops["packing"][packed])
        asks = {
            Part.TILES: (groups["stripes"] > 0).any(),
            Part.CHANNEL_GROUPS: ((ops["channel_groups"] > 1) | (ops["flags"] & Flags.SUMS != 0)).any(),
            Part.ITERATIVE: (ops["flags"] & Flags.ITERATIVE != 0).any(),
            Part.STREAM: header["input"] == InputPlace.STREAM,
            Part.EXTERNAL: header["input"] == InputPlace.EXTERNAL,
            Part.REVERSED: ((tensors["layout"] != RowLayout.HWC) & (tensors["layout"] < RowLayout.STATE)).any(),
            Part.LINK: header["input"] == InputPlace.LINK,
            Part.STATE: header["state"] > 0,
            Part.NIBBLES: (ops["flags"] & Flags.NIBBLES != 0).any(),
            Part.TAPS: ((ops["packing"] == Packing.MVE_DEPTHWISE) & ~_has_nine(ops)).any(),
        }
        parts |= sum(1 << part for part, asked in asks.items() if asked)
    return Needs(kinds, packings, parts)


def _has_nine(ops: np.ndarray) -> NDArray[np.bool_]:
    """Return the result of tmo_mve_has_nine() for each operator."""
    wanted = {"kernel_h": 3, "kernel_w": 3, "dilation_w": 1, "output_zero_point": -128, "act_min": -128, "act_max": 127}
    found = np.ones(len(ops), np.bool_)
    for field, value in wanted.items():
        found &= ops[field] == value
    return found


def _mask(values: Iterable[int]) -> int:
    return sum(1 << int(value) for value in set(values))
