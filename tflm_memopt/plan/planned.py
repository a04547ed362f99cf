"""The result of planning: a checked plan with its row graph."""

from __future__ import annotations

from dataclasses import dataclass

from tflm_memopt.plan.plan import Plan
from tflm_memopt.rowgraph.graph import RowGraph


@dataclass(frozen=True, slots=True)
class Planned:
    """A checked plan of a model."""

    graph: RowGraph
    plan: Plan
