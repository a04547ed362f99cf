"""Determines for the checker's proof when the rows of a streamed input are live in a group (lives.py).

When an iteration needs new rows, the caller writes them over the previous rows. Rows that are still needed are copied
to a rolling buffer before the caller writes.
"""

from collections.abc import Sequence

import numpy as np

from tflm_memopt.check.arena import Ints, TaggedArena
from tflm_memopt.check.lives import BEFORE, LiveRanges, demand, joined
from tflm_memopt.check.nest import EARLY, LATE, MOMENTS
from tflm_memopt.check.source import SourceReplay
from tflm_memopt.check.windows import ReadWindows
from tflm_memopt.plan.plan import Role


class SourceRows:
    def __init__(self, replay: SourceReplay, needs: Sequence[tuple[Ints, Ints]]) -> None:
        """`needs` are the positions of iterations, with the number of input rows that must have arrived before each of
        them.
        """
        self.pushed = replay.pushed
        waits = any(len(positions) for positions, _ in needs)
        self._replay, self._source = replay, replay.streamed if waits else None
        self._positions = np.zeros(0, dtype=np.int64)
        """Positions of the iterations before which rows arrive, in ascending order."""
        if self._source is None:
            return
        at_once = self._source.pushed
        demand(not replay.passed and self.pushed == at_once)
        positions, rows = (np.concatenate(column) for column in zip(*needs, strict=True))
        order = np.argsort(positions)
        times = np.maximum.accumulate(-(-rows[order] // at_once))
        self._positions = np.repeat(positions[order], np.diff(times, prepend=1))
        self.pushed += at_once * len(self._positions)
        self._seen = np.zeros((2, self.pushed), dtype=np.int64)
        """For each row, the times of its last reads at the place of its arrival and in the rolling buffer."""

    def moment(self, positions: Ints) -> Ints:
        """Return the times at which iterations begin. The arrival of rows takes as long as an iteration."""
        return MOMENTS * (1 + positions + np.searchsorted(self._positions, positions, side="right"))

    def read(self, windows: ReadWindows, positions: Ints, moments: Ints) -> None:
        if self._source is None:
            return
        at_once = self._source.pushed
        first = at_once * np.searchsorted(self._positions, positions, side="right")
        for dy in range(int((windows.bottom - windows.top).max(initial=0))):
            some = windows.some & (windows.top + dy < windows.bottom)
            row = (windows.top + dy)[some]
            np.maximum.at(self._seen, ((row < first[some]).astype(np.int64), row), moments[some])

    def clear_of(self, arena: TaggedArena, lives: LiveRanges) -> bool:
        if self._source is None:
            return True
        depth, rolling_buffer = self._replay.rolling_buffer(self._source)
        start = arena.at(Role.TENSOR, self._source.tensor)[1]
        places = ((start, self._source.pushed), (rolling_buffer, depth))
        return all(((lives.end <= at) | (lives.at >= at + rows * self._source.row_bytes)).all() for at, rows in places)

    def lives(self, arena: TaggedArena) -> LiveRanges:
        """Return when and where the input's rows are live, both where they arrive and in the rolling buffer."""
        source = self._source
        if source is None:
            return joined([])
        size, at_once = source.row_bytes, source.pushed
        start = arena.at(Role.TENSOR, source.tensor, at_once * size)[1]
        depth, rolling_buffer = self._replay.rolling_buffer(source)
        ticks = MOMENTS * (1 + self._positions + np.arange(len(self._positions)))
        row = np.arange(self.pushed)
        push = row // at_once
        comes = np.where(push > 0, np.append(BEFORE, ticks + LATE)[push], BEFORE)
        gone = push < len(ticks)
        kept = np.flatnonzero(gone & (row >= at_once * (push + 1) - depth))
        seen, kept_seen = self._seen
        demand(not kept_seen[np.setdiff1d(row, kept)].any())
        seen[kept] = np.maximum(seen[kept], ticks[push[kept]] + EARLY)
        at = start + row % at_once * size
        pushed = LiveRanges(at, at + size, comes, np.maximum(seen, comes), arena.mark(source.tensor, row * size, at))
        old = pushed.of(np.flatnonzero((comes == BEFORE) & (seen > 0)))
        arena.read_pixels(source.tensor, old.at, old.marks, size, "a group")
        copied = ticks[push[kept]] + EARLY
        at = rolling_buffer + kept % max(depth, 1) * size
        marks = arena.mark(source.tensor, kept * size, at)
        return joined([pushed, LiveRanges(at, at + size, copied, np.maximum(kept_seen[kept], copied), marks)])
