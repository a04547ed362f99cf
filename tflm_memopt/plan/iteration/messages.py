"""Computation of a device between the rows that it exchanges with others."""

from __future__ import annotations

from collections.abc import Mapping

from tflm_memopt.plan.iteration.planned import Planned


def between(planned: Planned, cost: Mapping[int, float]) -> list[float]:
    """Return the computation before each exchanged row, in the order of check(), and after the last row.

    cost: cost of all iterations of an operator together, by its key, in any unit.
    """
    found = [0.0]
    for group in planned.groups.values():
        executed = group.trace.executed.tolist()
        each = {key: cost[key] / executed.count(key) for key in set(executed)}
        for key in executed:
            found[-1] += each[key]
            if planned.graph.ops[key].message is not None:
                found.append(0.0)
    return found
