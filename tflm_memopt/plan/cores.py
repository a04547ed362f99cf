"""Splits the work of each operator between two cores, and decides where the cores wait for each other.

The cores divide each row by columns or by channels, so that buffers do not grow. Between two barriers, no core may
access bytes that the other core writes. The operators are divided as in chapter 5 of Stahl's thesis, which uses devices
instead of cores.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.codes import Sharding
from tflm_memopt.format.limits import MAX_TAPS
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.packing import ON_CORE_0, Packing
from tflm_memopt.ops.rowop import RowOp, Rows
from tflm_memopt.plan.iteration.planned import Planned, PlannedGroup
from tflm_memopt.plan.iteration.trace import Member
from tflm_memopt.plan.plan import GroupSharding, OpSharding, Plan, Role

CORES = 2
EVEN = (1.0, 1.0)
GRANULES = {Packing.NONE: 1, Packing.DSP_CONV: 4, Packing.DSP_DEPTHWISE: 4, Packing.DSP_DENSE: 6}
"""A core's channels are a multiple of the packing's granule, apart from the last channels of the operator."""
PIXELS = {Packing.DSP_CONV: 4}
"""Number of pixels that a kernel with packed weights computes in a call. A call for one pixel takes as long as a full
call.
"""
LEAST_PACKED = 4
AWKWARD = 4
"""With packed weights, a row of five columns is not divided into four columns and one column. A call for four columns
may need more scratch than the calls for five columns, which compute three columns and two columns.
"""
MOST_SERIAL = 0.2
"""If an iteration on both cores would cause a conflict, core 0 computes the whole iteration. At most the fraction
MOST_SERIAL of an operator's iterations may cause a conflict.
"""
LABELS = 1000
"""The search for a division between two cores keeps at most about LABELS different finishing times of core 0."""
BYTE_WORK, PACKED_BYTE_WORK = 6, 28
"""Writing an output byte takes as long as BYTE_WORK multiply-accumulates with plain weights, or as PACKED_BYTE_WORK
multiply-accumulates with packed weights.
"""


@dataclass(frozen=True, slots=True)
class Patch:
    """Bytes [first, end) of each of `pixels` pixels, where `pitch` is the number of bytes from one
    pixel to the next.
    """

    start: int
    pixels: int
    pitch: int
    first: int
    end: int

    def of(self, marks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        whole = marks[self.start : self.start + self.pixels * self.pitch]
        view: NDArray[np.bool_] = whole.reshape(self.pixels, self.pitch)[:, self.first : self.end]
        return view


@dataclass(frozen=True, slots=True)
class Touched:
    reads: tuple[Patch, ...] = ()
    writes: tuple[Patch, ...] = ()


class _Marks:
    def __init__(self, nbytes: int) -> None:
        self.read = np.zeros((CORES, nbytes), np.bool_)
        self.written = np.zeros((CORES, nbytes), np.bool_)

    def clear(self) -> None:
        self.read[:] = self.written[:] = False

    def add(self, core: int, touched: Touched, value: bool = True) -> None:
        for marks, patches in ((self.read, touched.reads), (self.written, touched.writes)):
            for patch in patches:
                patch.of(marks[core])[:] = value

    def conflicts(self, core: int, touched: Touched) -> bool:
        read, written = self.read[1 - core], self.written[1 - core]
        both = any(patch.of(written).any() for patch in (*touched.reads, *touched.writes))
        return both or any(patch.of(read).any() for patch in touched.writes)


class _Group:
    def __init__(self, group: PlannedGroup) -> None:
        self.step, self.group, self.trace = group.number, group.step, group.trace
        self.members = {m.key: m for m in self.trace.members}
        executed = self.trace.executed.tolist(), self.trace.iteration[self.trace.moments].tolist()
        self.iterations = [*zip(*executed, strict=True)]
        self.plan = group.plan
        self.start = {b.key: offset for b, offset in self.plan.placed() if b.role is Role.TENSOR}
        self.start |= {slow.tensor: self.plan.head + slow.offset for slow in self.plan.slow}
        """In `start`, the addresses in slow memory follow the last address of the arena's head."""

    def _solid(self, role: Role, key: int, nbytes: int, start: int = 0) -> tuple[Patch, ...]:
        found = self.plan.find(role, key)
        return (Patch(found[1] + start, 1, nbytes, 0, nbytes),) if found and nbytes else ()

    def row(self, tensor: TensorId, rows: Rows, y: int) -> int:
        if rolling := self.plan.find(Role.ROLLING_BUFFER, tensor):
            return rolling[1] + y % rolling[0].depth * rows.row_bytes
        is_reversed = self.group.is_reversed and rows.h * rows.w > 1
        return self.start[tensor] + (rows.h - 1 - y if is_reversed else y) * rows.row_bytes

    def touched(self, sharding: OpSharding, core: int, number: int) -> Touched:
        key, y = self.iterations[number]
        member = self.members[key]
        op = member.op
        copied = tuple(patch for m in self.members.values() for patch in self._copy(m)) if core + number == 0 else ()
        if sharding.kind <= Sharding.CORE_1 and sharding.kind != core:
            return Touched(writes=(*copied, *self._counters(core)))
        columns, channels = part(sharding, core, op.writes)
        filtered = channels if sharding.kind is Sharding.CHANNELS and op.is_depthwise else None
        reads = tuple(p for k in range(len(op.inputs)) for p in self._reads(member, k, y, columns, filtered))
        made = 0 if member.iterative else y
        start = self.row(op.output, op.writes, made) + columns[0] * op.writes.c
        out = Patch(start, columns[1] - columns[0], op.writes.c, *channels)
        sums = self._solid(Role.ACCUMULATOR, op.output, member.sum_bytes)
        behind = core * self.trace.core_1_scratch(member)
        scratch = self._solid(Role.SCRATCH, self.step, member.scratch_bytes, behind)
        return Touched((*reads, *sums, *self._copy(member)), (out, *sums, *scratch, *copied, *self._counters(core)))

    def _copy(self, member: Member) -> tuple[Patch, ...]:
        found = self.plan.find(Role.WEIGHTS, member.op.output)
        return self._solid(Role.WEIGHTS, member.op.output, found[0].nbytes) if found else ()

    def _counters(self, core: int) -> tuple[Patch, ...]:
        start = core * max(m.op.core_1_counters for m in self.members.values())
        return self._solid(Role.COUNTERS, self.step, 2 * len(self.members), start)

    def _reads(
        self, member: Member, k: int, y: int, columns: tuple[int, int], channels: tuple[int, int] | None
    ) -> Iterator[Patch]:
        op, rows, at = member.op, member.op.reads[k], np.array([y], np.int64)
        first, end = (int(edge[0]) for edge in member.rows(k, at))
        left, right = (0, rows.w) if member.iterative else columns_under(op, k, columns)
        span = channels or (0, rows.c)
        for row in range(first, end):
            if right > left:
                yield Patch(self.row(op.inputs[k], rows, row) + left * rows.c, right - left, rows.c, *span)


def part(sharding: OpSharding, core: int, writes: Rows) -> tuple[tuple[int, int], tuple[int, int]]:
    columns, channels = (
        ((0, sharding.cut) if core == 0 else (sharding.cut, whole)) if sharding.kind is kind else (0, whole)
        for kind, whole in ((Sharding.COLUMNS, writes.w), (Sharding.CHANNELS, writes.c))
    )
    return columns, channels


def columns_under(op: RowOp, k: int, columns: tuple[int, int]) -> tuple[int, int]:
    width, w = op.reads[k].w, op.window
    if op.access:
        return 0, width
    if op.is_binary and width == 1:
        return 0, 1
    if not op.has_window:
        return columns if width == op.writes.w else (0, width)
    return max(0, w.columns.first(columns[0])), min(width, w.columns.end(columns[1] - 1))


@dataclass(frozen=True, slots=True)
class _Possible:
    sharding: OpSharding
    serial: tuple[int, ...]
    times: tuple[float, float]
    """Time of each core, in units of the time for one multiply-accumulate."""


def cuts(member: Member, first: float) -> Iterator[tuple[float, OpSharding]]:
    """Yield divisions that give core 0 about the fraction `first` of the work. Each division comes with the fraction of
    work that it adds to each core.
    """
    op, out = member.op, member.op.writes
    if member.iterative or not op.cuts_columns:
        return
    packed = op.packing is not Packing.NONE
    at_once = PIXELS.get(op.packing, 1)
    for cut in dict.fromkeys(cut for step in (1, at_once) for cut in _around(first * out.w, step, out.w)):
        if not (packed and out.w == AWKWARD + 1 and AWKWARD in (cut, out.w - cut)):
            rounds = ceil(cut / at_once) + ceil((out.w - cut) / at_once) - ceil(out.w / at_once)
            yield rounds / CORES / out.w, OpSharding(member.key, Sharding.COLUMNS, cut)
    granule = GRANULES.get(op.packing, 0)
    taps = op.window.kernel_h * op.window.kernel_w
    if granule and op.cuts_channels and (taps <= MAX_TAPS or not op.is_depthwise):
        least = LEAST_PACKED if packed else 1
        for cut in _around(first * out.c, granule, out.c):
            if min(cut, out.c - cut) >= least:
                yield _again(op, taps), OpSharding(member.key, Sharding.CHANNELS, cut)


def _again(op: RowOp, taps: int) -> float:
    """Estimate which fraction of a pixel's work is done twice if both cores divide the pixel's channels."""
    packed, channels = op.packing is not Packing.NONE, op.writes.c
    if op.is_depthwise:
        return (60 + 15 * taps) / ((1.25 if packed else 4) * taps * channels)
    values = taps * op.reads[0].c
    gathered = (1 if op.writes.w >= 8 else 3.5) * values if packed and op.writes.w > 1 else 0
    return (gathered + 100) / ((0.55 if packed else 3) * values * channels + gathered)


def _around(ideal: float, step: int, whole: int) -> list[int]:
    below = int(ideal // step) * step
    return [cut for cut in dict.fromkeys((below, below + step)) if 0 < cut < whole]


def shard(planned: Planned, speeds: tuple[float, float] = EVEN) -> Plan:
    """Return the plan for two cores. For each core, the argument `speeds` has the fraction of the core's time that the
    model may use.
    """
    plan, times = planned.plan, (0.0, 0.0)
    shardings = []
    for call in plan.calls():
        marks = _Marks(plan.head + plan.slow_bytes)
        for number in call:
            group = _Group(planned.groups[number])
            candidates = [_candidates(group, m, speeds) for m in group.trace.members]
            chosen, times = _balanced(candidates, times)
            of_op = {candidate.sharding.op: candidate.sharding for candidate in chosen}
            serial = tuple(sorted(i for candidate in chosen for i in candidate.serial))
            barriers = _barriers(group, of_op, frozenset(serial), marks, enters=number != call[0])
            in_order = tuple(of_op[stage.op] for stage in group.group.stages)
            shardings.append(GroupSharding(number, in_order, tuple(barriers), serial))
    return replace(plan, shardings=tuple(shardings))


def _candidates(group: _Group, member: Member, speeds: tuple[float, float]) -> list[_Possible]:
    op = member.op
    work = op.macs + (BYTE_WORK if op.packing is Packing.NONE else PACKED_BYTE_WORK) * op.writes.nbytes

    def candidate(sharding: OpSharding, again: float = 0.0, serial: tuple[int, ...] = ()) -> _Possible:
        shared = 1 - len(serial) / len(member.iterations)
        mine = fraction(sharding, op.writes) * shared + (1 - shared)
        times = ((mine + again) * work / speeds[0], (1 - mine + again) * work / speeds[1])
        return _Possible(sharding, serial, times)

    if op.packing in ON_CORE_0:
        return [candidate(OpSharding(member.key, Sharding.CORE_0))]
    candidates = []
    for again, sharding in cuts(member, speeds[0] / sum(speeds)):
        serial = tuple(_collisions(group, sharding))
        if len(serial) <= MOST_SERIAL * len(member.iterations):
            candidates.append(candidate(sharding, again, serial))
    if candidates:
        return candidates
    whole = (OpSharding(member.key, kind) for kind in (Sharding.CORE_0, Sharding.CORE_1))
    return [candidate(sharding, serial=tuple(_collisions(group, sharding))) for sharding in whole]


def _balanced(
    candidates: Sequence[Sequence[_Possible]], before: tuple[float, float]
) -> tuple[list[_Possible], tuple[float, float]]:
    """Return how to divide each operator so that both cores finish early, and the finishing times.

    A core that does more work in one operator of a group can do less work in the next operator. Among choices with
    similar times of core 0, the search keeps the choice with the shortest time of core 1.
    """
    grain = sum(max(candidate.times[0] for candidate in each) for each in candidates) / LABELS or 1.0
    labels: list[tuple[tuple[float, float], list[_Possible]]] = [(before, [])]
    for each in candidates:
        found = [
            ((times[0] + candidate.times[0], times[1] + candidate.times[1]), [*chosen, candidate])
            for times, chosen in labels
            for candidate in each
        ]
        best: dict[int, tuple[tuple[float, float], list[_Possible]]] = {}
        for label in found:
            key = int(label[0][0] / grain)
            if key not in best or label[0][1] < best[key][0][1]:
                best[key] = label
        labels = list(best.values())
    least = min(max(times) for times, _ in labels)
    times, chosen = min((label for label in labels if max(label[0]) <= least + grain), key=lambda label: label[0][1])
    return chosen, times


def fraction(sharding: OpSharding, writes: Rows) -> float:
    whole = {Sharding.COLUMNS: writes.w, Sharding.CHANNELS: writes.c}.get(sharding.kind)
    return sharding.cut / whole if whole else float(sharding.kind is Sharding.CORE_0)


def _collisions(group: _Group, sharding: OpSharding) -> Iterator[int]:
    marks = _Marks(group.plan.head + group.plan.slow_bytes)
    for number, (key, _) in enumerate(group.iterations):
        if key != sharding.op:
            continue
        one, other = (group.touched(sharding, core, number) for core in range(CORES))
        marks.add(0, one)
        if marks.conflicts(1, other):
            yield number
        marks.add(0, one, value=False)


def _barriers(
    group: _Group, shardings: Mapping[int, OpSharding], serial: frozenset[int], marks: _Marks, *, enters: bool
) -> Iterator[int]:
    """The argument `enters` is true if the custom operator has run another group before this group."""
    for number, (key, _) in enumerate(group.iterations):
        sharding = OpSharding(key, Sharding.CORE_0) if number in serial else shardings[key]
        touched = [group.touched(sharding, core, number) for core in range(CORES)]
        if (enters and number == 0) or any(marks.conflicts(core, touched[core]) for core in range(CORES)):
            yield number
            marks.clear()
        for core in range(CORES):
            marks.add(core, touched[core])
