"""Chooses the layer at which devices switch from splitting feature maps to splitting weights. This is the first integer
program of the fused tiling thesis (Stahl, chapter 5). Sizes may have any unit. The layers are assumed to divide evenly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tflm_memopt.plan import cp_sat

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

SEED = 1


@dataclass(frozen=True, slots=True)
class SplitLayer:
    """Sizes of a layer: input, output and weights."""

    reads: int
    makes: int
    weights: int = 0


def least_memory(layers: Sequence[SplitLayer], devices: int) -> int:
    """Return how many leading layers should split feature maps for the least memory per device.

    The memory is the largest pair of input and output plus all weights (Eq. 5.12-5.15).
    """
    cp_sat.load()
    from ortools.sat.python import cp_model  # noqa: PLC0415 (see cp_sat.load)

    model = cp_model.CpModel()
    weighted = [model.new_bool_var(f"b{i}") for i in range(len(layers))]
    most = devices * max((a.reads + a.makes for a in layers), default=0)
    maps = model.new_int_var(0, most, "c")  # all sizes are multiplied by the number of devices to avoid fractions
    for before, behind in pairwise(weighted):
        model.add(before <= behind)
    for a, b in zip(layers, weighted, strict=True):
        model.add(maps >= (a.reads + a.makes) * (1 + (devices - 1) * b))
    kept = [a.weights * (devices - (devices - 1) * b) for a, b in zip(layers, weighted, strict=True)]
    model.minimize(maps + sum(kept))
    solver = solved(model)
    return sum(not solver.boolean_value(b) for b in weighted)


def solved(model: cp_model.CpModel) -> cp_model.CpSolver:
    """Solve a program to optimality. No time limit is needed, because each layer depends only on its neighbours."""
    solver = cp_sat.solver(math.inf, SEED)
    solver.solve(model)
    return solver
