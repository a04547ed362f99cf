"""Determines the order in which the operators of a group compute their rows, and which rows they read."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from tflm_memopt.check.arena import Ints
from tflm_memopt.check.kernels import accumulators, ends_last, kernel_scratch, needs_order, reads_first
from tflm_memopt.check.windows import ReadWindows, window
from tflm_memopt.errors import PlanError
from tflm_memopt.ops.rowop import RowOp, Rows
from tflm_memopt.plan.loops import Loops, Repeat
from tflm_memopt.plan.plan import Group, Stage


class StageNest:
    """Iterations of an operator, each of which computes pixels [x0, x1) of a row for one group of channels."""

    def __init__(self, stage: Stage, op: RowOp, stripes: int, *, is_reversed: bool) -> None:
        """The argument `stripes` is the number of stripes of the group, or 0 if the operator runs row by row."""
        self.stage, self.op, self.nest, self.is_reversed = stage, op, stage.nest, is_reversed
        self.tiled = stripes > 0
        self.iterated: Rows = op.reads[0] if stage.iterative else op.writes
        self.tile = self.nest.tile or self.iterated.w
        self.scratch = kernel_scratch(stage, op, self.tile)
        self.sums = (stage.iterative and not op.scatters) or self.nest.sums
        self.in_place = reads_first(op)
        self.ends_late = ends_last(op) and not self.sums and self.nest.channel_groups == 1 and not op.leaves
        self.splits = self.nest.channel_groups > 1 and not self.nest.sums
        self.makes_again = self.nest.rows > self.nest.advance
        self.done = 0
        """Index of the iteration that the replay has reached."""
        w, stripes = self.nest, stripes or self.iterated.h
        ends = np.arange(stripes, dtype=np.int64) * w.advance + w.end
        starts = ends - w.rows if self.makes_again else ends - w.advance
        if len(starts) and not self.makes_again:
            starts[0] = 0
        self.lo, self.hi = (np.clip(edge, 0, self.iterated.h) for edge in (starts, ends))
        self.made = np.maximum(self.hi - self.lo, 0)
        self._tiles = len(range(0, self.iterated.w, self.tile))
        counts = self.made * (self._tiles * max(0, w.channel_groups))
        self._start = np.cumsum(counts) - counts
        self.stripe = np.repeat(np.arange(stripes, dtype=np.int64), counts)
        within, made = np.arange(len(self.stripe), dtype=np.int64) - self._start[self.stripe], self.made[self.stripe]
        self.channel_group, rest = np.divmod(within, made * self._tiles)
        self.row = self.lo[self.stripe] + rest % made
        self.x0 = rest // made * self.tile
        self.x1 = np.minimum(self.x0 + self.tile, self.iterated.w)

    def __len__(self) -> int:
        return len(self.row)

    def __str__(self) -> str:
        return self.name(self.done)

    def name(self, number: int) -> str:
        axes = ("stripe", "channel_group", "row", "x0", "x1") if self.tiled else ()
        which = ", ".join(f"{axis} {getattr(self, axis)[number]}" for axis in axes) or number
        return f"operator {self.stage.op} {self.op.name}, iteration {which}"

    @property
    def channel_groups(self) -> int:
        """Number of channel groups, without a last group that only writes finished sums."""
        return self.nest.channel_groups - self.nest.sums

    def macs(self, executed: Ints) -> int:
        some = executed[self.channel_group[executed] < self.channel_groups]
        pixels = int((self.x1 - self.x0)[some].sum())
        return self.op.macs * pixels // (self.iterated.h * self.iterated.w * self.channel_groups)

    @property
    def sum_bytes(self) -> int:
        rows = 1 if self.stage.iterative else int((self.hi - self.lo).max(initial=0))
        return rows * accumulators(self.op)

    @property
    def pixel_bytes(self) -> int:
        """Size in bytes of an output pixel, or of the part of an output pixel that is in one channel group."""
        return -(-self.op.writes.c // self.nest.channel_groups) if self.splits else self.op.writes.c

    def channels(self, channel_group: int) -> tuple[int, int]:
        first = channel_group * self.pixel_bytes
        return first, min(self.pixel_bytes, self.op.writes.c - first)

    def window_bytes(self, k: int) -> int:
        w, seen = self.op.window, self.op.reads[k]
        single = self.stage.iterative or k > 0
        return (1 if single else min(w.kernel_h, seen.h) * min(w.kernel_w, seen.w)) * seen.c

    @cached_property
    def opens(self) -> Ints:
        """For each iteration, whether the iteration starts new sums."""
        before = self.stripe if self.stage.iterative else np.append(-1, self.stripe[:-1])
        first: Ints = self.stripe != before
        first[:1] = True
        return first

    @cached_property
    def windows(self) -> Sequence[ReadWindows]:
        found = [self._window(k) for k in range(len(self.op.inputs))]
        if self.nest.sums:  # The last channel group only writes finished sums and reads no input.
            last = self.channel_group == self.nest.channel_groups - 1
            found = [w._replace(bottom=np.where(last, w.top, w.bottom)) for w in found]
        return found

    def _window(self, k: int) -> ReadWindows:
        y, x0, x1 = self.row, self.x0, self.x1
        if self.stage.iterative:
            return ReadWindows(y, y + 1, x0, x1)
        seen = self.op.reads[k]
        if self.is_reversed:
            made = self.op.writes
            y, x0, x1 = made.h - 1 - y, made.w - x1, made.w - x0
        top, bottom, left, right = window(self.op, k, y, x0, x1)
        if not self.tiled:
            left, right = 0 * left, np.full_like(right, seen.w)
        if self.is_reversed:  # A reversed group counts the rows of a tensor from the last to the first.
            return ReadWindows(seen.h - bottom, seen.h - top, seen.w - right, seen.w - left)
        return ReadWindows(top, bottom, left, right)

    def reads(self) -> Sequence[tuple[range, range]]:
        return self._reads[self.done]

    @cached_property
    def _reads(self) -> Sequence[Sequence[tuple[range, range]]]:
        edges = ([edge.tolist() for edge in read] for read in self.windows)
        inputs = ([*zip(map(range, top, end), map(range, left, right), strict=True)] for top, end, left, right in edges)
        return [*zip(*inputs, strict=True)]

    def executed(self, skips: Ints) -> Ints:
        """Return the indices of the executed iterations. The argument `skips` has the number of stripes that are
        skipped before each of them.
        """
        number = np.arange(len(skips), dtype=np.int64)
        for at in np.flatnonzero(skips).tolist():
            number[at:] += self._after_skip(int(number[at]), int(skips[at])) - int(number[at])
        return number

    def _after_skip(self, done: int, stripes: int) -> int:
        wanted = int(self.stripe[done]) + stripes if done < len(self) else len(self.made)
        there = self.makes_again and wanted < len(self.made) and self.made[wanted]
        return int(self._start[wanted]) if there else len(self)


def steps_of(group: Group, ops: Mapping[int, RowOp]) -> dict[int, StageNest]:
    by_rows = {s.op for s in group.stages if s.nest.by_rows and not s.iterative}
    return {
        s.op: StageNest(s, ops[s.op], 0 if s.op in by_rows else group.stripes, is_reversed=group.is_reversed)
        for s in group.stages
    }


def run_order(number: int, group: Group, steps: Mapping[int, StageNest]) -> Iterator[tuple[StageNest, Ints, Ints]]:
    """Yield each operator of a group, its positions in the group's loops, and the indices of its iterations.

    Raises PlanError for iterations that do not exist and for missing rows.
    """
    if count_iterations(group.loops) > sum(map(len, steps.values())):
        raise _refused(number, "its loops run operators too often")
    stages, skips = _ordered(group.loops)
    if (stages >= len(group.stages)).any():
        raise _refused(number, f"its loops run operator {stages.max()} of {len(group.stages)}")
    keys = np.array([stage.op for stage in group.stages], np.int64)[stages]
    for key, step in steps.items():
        (at,) = (keys == key).nonzero()
        executed = step.executed(skips[at])
        if len(executed) and not 0 <= executed.min() <= executed.max() < len(step):
            raise _refused(number, f"operator {key} runs too often")
        step.done = int(executed[-1]) + 1 if len(executed) else 0
        yield step, at, executed
    for key in group.sinks:
        if key not in steps:
            raise PlanError(f"group {number} wants all rows of operator {key}, which is not in it")
        if steps[key].done < len(steps[key]):
            raise _refused(number, f"its loops end before operator {key} has made all rows")


def count_iterations(loops: Loops) -> int:
    return sum(max(0, item.times) * count_iterations(item.body) if isinstance(item, Repeat) else 1 for item in loops)


def _ordered(loops: Loops) -> Ints:
    """Return an array of two rows: the operator of each iteration, and the number of stripes that are skipped before
    the iteration.
    """
    parts = [
        np.tile(_ordered(item.body), (1, item.times))
        if isinstance(item, Repeat)
        else np.array([[item.stage], [item.skips]], np.int64)
        for item in loops
    ]
    return np.concatenate([np.zeros((2, 0), np.int64), *parts], axis=1)


def _refused(number: int, why: str) -> PlanError:
    return PlanError(f"group {number}: {why}")


def check_nest(step: StageNest) -> None:
    """Raise PlanError if an operator's operands are wrong, or if its loops are impossible, for example endless."""
    if sorted(step.stage.operands) != [*range(len(step.op.inputs))]:
        raise PlanError(f"operator {step.stage.op} {step.op.name} reads its inputs as {step.stage.operands}")
    if not step.tiled:
        if not step.nest.by_rows:
            raise PlanError(f"operator {step.stage.op} of a row group runs as {step.nest}")
        return
    if step.op.access:
        raise PlanError(f"operator {step.stage.op} of a tiled group reads whole rows", code="bad_plan")
    if not 1 <= step.nest.advance <= step.nest.rows:
        raise PlanError(f"operator {step.stage.op}: stripes of {step.nest.rows} rows advance by {step.nest.advance}")
    if step.stage.iterative and needs_order(step.op) and step.nest.rows > 1 and step.tile < step.iterated.w:
        raise PlanError(f"operator {step.stage.op} adds up columns of {step.nest.rows} rows, not row by row")
    channels = step.op.reads[0].c if step.nest.sums or step.op.sends else step.op.writes.c
    if step.channel_groups < 1 or (step.channel_groups - 1) * -(-channels // step.channel_groups) >= channels:
        raise PlanError(f"operator {step.stage.op}: {channels} channels in {step.channel_groups} groups")
