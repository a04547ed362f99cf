"""Finds the live bytes of every buffer over time, for the memory map."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tflm_memopt.plan.iteration.liveness import LiveRange
from tflm_memopt.plan.iteration.planned import Planned, PlannedGroup
from tflm_memopt.plan.memory_map import Stretch
from tflm_memopt.plan.nest import Ints
from tflm_memopt.plan.plan import Role

MOST_MOMENTS = 64
"""Maximum number of moments of a group in the memory map, so that a screen can show all moments."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    moments: tuple[int, ...]
    stretches: tuple[tuple[Stretch, ...], ...]
    live: tuple[int, ...]


def occupancy(planned: Planned) -> Occupancy:
    plan = planned.plan
    moments: list[int] = []
    live: list[int] = []
    stretches: list[list[Stretch]] = [[] for _ in plan.buffers]
    for number, alive in enumerate(plan.alive):
        group = planned.groups.get(number)
        inside = _in_memory(group) if group else {}
        parts = _groups(max((len(c.top) for c in inside.values()), default=1))
        total = np.zeros(len(parts), dtype=np.int64)
        at_once: Ints | int = 0
        for i in alive:
            here = inside.get(i)
            if here is None:
                total += plan.buffers[i].nbytes
                _append(stretches[i], Stretch(len(live), len(live) + len(parts), 0, plan.buffers[i].nbytes))
                continue
            at_once = at_once + np.maximum(here.before - here.bottom, 0)
            for k, part in enumerate(parts):
                some = here.top[part] > here.bottom[part]
                if some.any():
                    bottom, top = int(here.bottom[part][some].min()), int(here.top[part][some].max())
                    _append(stretches[i], Stretch(len(live) + k, len(live) + k + 1, max(0, bottom), top))
        if not isinstance(at_once, int):
            total += np.array([at_once[part].max() for part in parts])
        moments.append(len(parts))
        live += total.tolist()
    return Occupancy(tuple(moments), tuple(map(tuple, stretches)), tuple(live))


def _in_memory(group: PlannedGroup) -> Mapping[int, LiveRange]:
    reverses = group.step.is_reversed
    ranges = group.live_ranges.items()
    return {i: r.from_the_end() if reverses and r.buffer.role is Role.TENSOR else r for i, r in ranges}


def _groups(count: int) -> list[slice]:
    edges = np.linspace(0, count, min(count, MOST_MOMENTS) + 1).astype(int).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def _append(stretches: list[Stretch], new: Stretch) -> None:
    old = stretches[-1] if stretches else None
    if old and (old.last, old.bottom, old.top) == (new.first, new.bottom, new.top):
        stretches[-1] = Stretch(old.first, new.last, new.bottom, new.top)
    else:
        stretches.append(new)
