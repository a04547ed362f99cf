"""Test the bytes that are held for any choice of pauses, and their cost beside another model."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from unit.command import long, small

from tflm_memopt.convert.request import request
from tflm_memopt.plan.effort import Budget
from tflm_memopt.plan.iteration.pauses import live_at, moments, surely_live
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.layout.joint import Tenant, least_paused, share
from tflm_memopt.plan.nest import Ints
from tflm_memopt.plan.plan import Group


@cache
def planned(data: bytes) -> Planned:
    options = {"effort": "low", "seconds": 0.2}
    return request(options).conversion(data).once.planned


def anywhere(time: np.ndarray, total: float, apart: float, rng: np.random.Generator) -> Ints:
    """Random moments, never more than `apart` from each other."""
    found: list[int] = []
    now = 0.0
    while total - now > apart:
        next_one = int(np.searchsorted(time, now, side="right")) if found else 0
        end = int(np.searchsorted(time, now + apart, side="right"))
        found.append(int(rng.integers(next_one, end)))
        now = float(time[found[-1]])
    return np.array(found, dtype=np.int64)


@pytest.mark.parametrize("share_of_time", [0.1, 0.3, 0.6])
def test_what_is_surely_held_is_held_at_any_pauses(share_of_time: float) -> None:
    one, other = planned(long()), planned(small())
    keys = [stage.op for step in one.plan.steps if isinstance(step, Group) for stage in step.stages]
    found = moments(one, dict.fromkeys(keys, 1.0))
    apart = share_of_time * found.total
    sure = surely_live(one, found, apart)
    assert sure
    least = least_paused(Tenant(one, paused=sure), [Tenant(other)], seconds=1.0, budget=Budget())
    rng = np.random.default_rng(1)
    for _ in range(3):
        live = live_at(one, found, anywhere(found.time, found.total, apart, rng))
        for i, (bottom, top) in sure.items():
            assert live[i][0] <= bottom < top <= live[i][1]
        head = share([Tenant(one, paused=live), Tenant(other)], (), {(0, 1)}, seconds=0.0, budget=Budget()).head
        assert 0 < least <= head


def test_nothing_is_surely_held_where_no_pause_is_needed() -> None:
    one = planned(long())
    keys = [stage.op for step in one.plan.steps if isinstance(step, Group) for stage in step.stages]
    found = moments(one, dict.fromkeys(keys, 1.0))
    assert not surely_live(one, found, found.total)
