"""Instructions of a model as it is, under TFLM with CMSIS-NN: an estimate fitted to whole models that were counted.

Two figures tell nearly all: multiply-accumulates, and values that operators write, each of which is scaled, clamped and
stored. cmsis_nn_counted.json has what was counted; the fit is made when it is asked for, and not used where it is bad:
on Cortex-M55 these two do not tell enough.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from tflm_memopt.model.graph import VIEW, Graph, Op

FITTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "AVERAGE_POOL_2D", "SOFTMAX")
"""Operators of the models that were counted."""
FREE = ("RESHAPE", VIEW)
"""What moves no byte."""
WEIGHTED = FITTED[:3]
OTHERS = 0.02
"""Share of an estimate that other operators may have, each value they read or write taken for one written."""
GOOD = 0.1
"""How far off a fit may be that is used."""
LIKE = {"cortex-m7": "cortex-m4", "cortex-m33": "cortex-m4"}
"""Cores that run the code of another one."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Instructions of one multiply-accumulate, and of one value that is written."""

    mac: float
    value: float
    worst: float
    """How far off estimates are at the most, as a share, for models that are left out of the fit one at a time."""
    models: int
    """Models that were counted."""


@cache
def fit(core: str) -> Fit | None:
    """None for a core where nothing was counted, or where that does not fit."""
    rows = counted(LIKE.get(core, core))
    if len(rows) < 3:
        return None
    amounts = np.array([(row["macs"], row["values"]) for row in rows], dtype=float)
    shares = amounts / np.array([[row["instructions"]] for row in rows], dtype=float)
    off = [abs(shares[n] @ _least_squares(np.delete(shares, n, axis=0)) - 1) for n in range(len(rows))]
    mac, value = _least_squares(shares)
    found = Fit(mac, value, float(max(off)), len(rows))
    return found if found.worst <= GOOD else None


def _least_squares(shares: Any) -> tuple[float, float]:
    """Minimise relative errors, so that small models count as much as large ones."""
    mac, value = np.linalg.lstsq(shares, np.ones(len(shares)), rcond=None)[0]
    return float(mac), float(value)


def instructions(graph: Graph, macs: Mapping[int, int], core: str) -> int | None:
    """Estimate of one inference of a whole model on a core; None where too little is known.

    macs: multiply-accumulates of operators by index.
    """
    return of_operators(graph, graph.ops, macs, core)


def of_operators(graph: Graph, ops: Collection[Op], macs: Mapping[int, int], core: str, beside: int = 0) -> int | None:
    """The same of some operators that run `beside` so many other instructions."""
    found = fit(core)
    if found is None:
        return None
    known = other = 0.0
    for op in ops:
        if op.type in FREE:
            continue
        if op.type not in FITTED or not _is_int8(graph, op):
            other += found.value * max(_values(graph, op.inputs), _values(graph, op.outputs))
        elif op.type in WEIGHTED and not macs.get(op.index):
            return None
        else:
            known += found.mac * macs.get(op.index, 0) + found.value * _values(graph, op.outputs)
    total = known + other
    return round(total) if other <= OTHERS * (total + beside) else None


def _is_int8(graph: Graph, op: Op) -> bool:
    return all(graph.tensors[tensor].dtype == "INT8" for tensor in (op.inputs[0], *op.outputs))


def _values(graph: Graph, tensors: Sequence[int]) -> int:
    return sum(graph.tensors[i].elements for i in tensors if i >= 0 and not graph.tensors[i].constant)


@cache
def counted(core: str) -> Sequence[Mapping[str, Any]]:
    """Models that were counted there: `model`, `macs`, `values` that operators write, `instructions`."""
    text = resources.files("tflm_memopt.analysis").joinpath("cmsis_nn_counted.json").read_text(encoding="utf-8")
    rows: Sequence[Mapping[str, Any]] = json.loads(text)["cores"].get(core, ())
    return rows
