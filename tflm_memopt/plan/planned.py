"""What planning hands on: a checked plan, with the row graph that it is a plan of."""

from __future__ import annotations

from dataclasses import dataclass

from tflm_memopt.plan.plan import Plan
from tflm_memopt.rowgraph.graph import RowGraph


@dataclass(frozen=True, slots=True)
class Planned:
    """A checked plan of a model."""

    graph: RowGraph
    plan: Plan
