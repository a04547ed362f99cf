"""Chooses the pauses of a model, which are moments between two iterations at which other models may run. The pauses are
close enough together, and few bytes are live during a pause.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.plan.iteration.live_out import Range, at_each_wait, at_waits, joined
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.nest import Ints

LEVELS = 3


@dataclass(frozen=True, slots=True)
class Moments:
    """Moments between two iterations at which other models may run."""

    after: Ints
    step: Ints
    iteration: Ints
    time: NDArray[np.float64]
    alive: Ints
    total: float

    @property
    def longest(self) -> float:
        return float(np.diff(self.time, prepend=0.0, append=self.total).max())

    def limits(self, apart: float) -> Sequence[int]:
        """Return limits for the live bytes of a pause, in ascending order. Under each limit, pauses at intervals of at
        most `apart` are possible.
        """
        least, most = 0, len(levels := np.unique(self.alive)) - 1
        if not len(levels) or self._gap(int(levels[most])) > apart:
            return ()
        while least < most:
            middle = (least + most) // 2
            least, most = (least, middle) if self._gap(int(levels[middle])) <= apart else (middle + 1, most)
        some = np.unique(np.linspace(least, len(levels) - 1, LEVELS).astype(int))
        return [int(levels[i]) for i in some]

    def _gap(self, alive: int) -> float:
        return float(np.diff(self.time[self.alive <= alive], prepend=0.0, append=self.total).max())

    def chosen(self, apart: float, alive: int) -> Ints:
        may = np.flatnonzero(self.alive <= alive)
        found: list[int] = []
        now = 0.0
        while self.total - now > apart:
            last = may[np.searchsorted(self.time[may], now + apart, side="right") - 1]
            found.append(int(last))
            now = float(self.time[last])
        return np.array(found, dtype=np.int64)


def moments(planned: Planned, cost: Mapping[int, float]) -> Moments:
    """Return all moments at which a plan can pause. The argument `cost` has the time of each operator's iterations."""
    found: list[tuple[Ints, ...]] = []
    times: list[NDArray[np.float64]] = []
    done, now = 0, 0.0
    for number, group in planned.groups.items():
        keys, which = np.unique(group.trace.executed, return_inverse=True)
        each = np.array([cost[key] for key in keys.tolist()]) / np.bincount(which)
        ends = now + np.cumsum(each[which])
        at = np.arange(1, len(which), dtype=np.int64)
        live = (np.maximum(top - bottom, 0) for bottom, top in at_each_wait(group, at).values())
        found.append((done + at, np.full_like(at, number), at, sum(live, np.zeros_like(at))))
        times.append(ends[:-1])
        done, now = done + len(which), float(ends[-1])
    after, steps, iteration, alive = (np.concatenate(column) for column in zip(*found, strict=True))
    return Moments(after, steps, iteration, np.concatenate(times), alive, now)


def live_at(planned: Planned, found: Moments, chosen: Ints) -> Mapping[int, Range]:
    """Map the index of each buffer to the bytes that must keep their contents at the chosen pauses."""
    live: Mapping[int, Range] = {}
    for number in np.unique(found.step[chosen]).tolist():
        waits = found.iteration[chosen][found.step[chosen] == number]
        live = joined(live, at_waits(planned.groups[number], waits))
    return live
