"""Converts the iterations of a traced group to the loops that the program stores (plan/loops.py)."""

from __future__ import annotations

import numpy as np

from tflm_memopt.plan.iteration.trace import Trace
from tflm_memopt.plan.loops import Loops, loops_of


def looped(trace: Trace) -> Loops:
    """Return all iterations of the group as loops."""
    number = {member.key: i for i, member in enumerate(trace.members)}
    stages = np.array([number[key] for key in trace.executed.tolist()], dtype=np.int64)
    skips = np.zeros(len(stages), dtype=np.int64)
    for member in trace.members:
        if member.nest.recomputes:
            at, unit = trace.order(member.key), trace.iterations_of(member.key)[1]
            expected = np.append(0, unit[:-1] + 1)
            stripe = member.units.stripe
            skips[at] = stripe[unit] - stripe[expected]
    return loops_of(stages, skips)
