"""Chooses the pauses of a model, which are moments between two iterations at which other models may run. The pauses are
close enough together, and few bytes are live during a pause. The module also finds the bytes that a model occupies
while the model is not running, such as outputs that the application reads.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.iteration.liveness import LiveRange, arrivals
from tflm_memopt.plan.iteration.planned import Planned, PlannedGroup
from tflm_memopt.plan.nest import Ints
from tflm_memopt.plan.plan import Role

LEVELS = 3
Range = tuple[int, int]


def live_out(planned: Planned, retained: Collection[TensorId] = ()) -> Mapping[int, Range]:
    """Map the index of each buffer to the bytes that must keep their contents while other models run."""
    plan, parts = planned.plan, planned.graph.parts
    stored = {parts[t].storage if t in parts else t for t in retained}
    found = {i: (0, b.nbytes) for i, b in enumerate(plan.buffers) if b.role is Role.TENSOR and b.key in stored}
    for group in planned.groups.values():
        come = arrivals(group.trace)
        if come is None:
            continue
        waits = come.pushed
        if not come.all_rows:
            waits = np.append(waits, len(group.trace.moments))
        found = joined(found, at_waits(group, waits))
    return found


def at_waits(group: PlannedGroup, waits: Ints) -> Mapping[int, Range]:
    """Map the index of each buffer to the buffer's bytes that are live before an iteration in `waits`."""
    found: dict[int, Range] = {}
    for i, (bottom, top) in at_each_wait(group, waits).items():
        if (some := top > bottom).any():
            found[i] = int(bottom[some].min()), int(top[some].max())
    return found


def at_each_wait(group: PlannedGroup, waits: Ints) -> Mapping[int, tuple[Ints, Ints]]:
    """Map the index of each buffer to the buffer's live bytes [bottom, top) before each iteration in `waits`. The
    newest rows of a streamed input do not count as live, because rows that are read later have been copied to a rolling
    buffer.
    """
    source = group.graph.source
    found: dict[int, tuple[Ints, Ints]] = {}
    for i in group.plan.alive[group.number]:
        buffer, live = group.plan.buffers[i], group.placed.get(i)
        streamed = source is not None and buffer.key == source.tensor
        if buffer.role is Role.SCRATCH or (buffer.role is Role.TENSOR and streamed):
            continue
        if live is None:
            found[i] = np.zeros_like(waits), np.full_like(waits, buffer.nbytes)
            continue
        # Input rows that are read later are copied to a rolling buffer before the model waits for new rows.
        copied = buffer.role is Role.ROLLING_BUFFER and streamed
        bottom, top = _alive(live, waits if copied else np.maximum(waits - 1, 0), waits)
        from_the_end = group.step.is_reversed and buffer.role is Role.TENSOR
        found[i] = (buffer.nbytes - top, buffer.nbytes - bottom) if from_the_end else (bottom, top)
    return found


def _alive(live: LiveRange, before: Ints, waits: Ints) -> tuple[Ints, Ints]:
    bottom, top = live.bottom[waits], live.top[before]
    if live.buffer.role is not Role.TENSOR:
        # A rolling buffer counts as live if its bytes are live both before and after the model waits.
        some = (live.top[before] > live.bottom[before]) & (live.top[waits] > live.bottom[waits])
        return np.zeros_like(waits), some * live.buffer.nbytes
    return np.maximum(bottom, 0), top


def joined(one: Mapping[int, Range], other: Mapping[int, Range]) -> dict[int, Range]:
    both = dict(one)
    for i, (bottom, top) in other.items():
        low, high = both.get(i, (bottom, top))
        both[i] = (min(low, bottom), max(high, top))
    return both


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
        """Return limits for the live bytes of a pause, in ascending order, for pauses at intervals of at most
        `apart`.
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
    """Return all moments at which a plan can pause. The argument `cost` has the time of all iterations of each
    operator.
    """
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
