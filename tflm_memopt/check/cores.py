"""Proves that two cores never overwrite each other's bytes, whatever their speeds are.

Two cores compute the same results as one core if, between two barriers, no core accesses a byte that the other core
writes. Each byte is marked with the number of barriers that the cores had passed at the byte's last access.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tflm_memopt.check.arena import Ints, TaggedArena
from tflm_memopt.check.kernels import accumulators, kernel_scratch
from tflm_memopt.check.nest import StageNest
from tflm_memopt.check.places import Place
from tflm_memopt.check.windows import moved, window
from tflm_memopt.errors import PlanError
from tflm_memopt.format.codes import Sharding
from tflm_memopt.ops.packing import Packing
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Group, GroupSharding, OpSharding, Plan, Role, Stage

NEVER = -1
Bytes = tuple[int, int, int, int]
"""Equally spaced runs of bytes: address of the first run, number of runs, bytes per run, distance between starts."""


class CoresReplay:
    """Marks the bytes that two cores access."""

    def __init__(self, plan: Plan, arena: TaggedArena, ops: Mapping[int, RowOp]) -> None:
        self.plan, self.arena, self.ops = plan, arena, ops
        self.of_step = {sharding.step: sharding for sharding in plan.shardings}
        self.read, self.written = np.full((2, 2, arena.end if plan.shardings else 0), NEVER, dtype=np.int64)
        self.stretch = 0
        if len(self.of_step) != len(plan.shardings):
            raise PlanError("a group is split twice")

    def enter(self, number: int, group: Group, places: Mapping[int, Sequence[Place]]) -> None:
        """Raises PlanError if the plan does not divide every operator of the group between two cores."""
        if not self.plan.shardings:
            return
        self.number, self.places, self.executed = number, places, 0
        of_group = self.of_step.get(number)
        keys = [stage.op for stage in group.stages]
        if of_group is None or [sharding.op for sharding in of_group.ops] != keys or group.stripes:
            raise PlanError(f"group {number} is not split operator by operator, or is tiled")
        self.of_group: GroupSharding = of_group
        self.shardings = {sharding.op: sharding for sharding in of_group.ops}
        self.stages: Mapping[int, Stage] = {stage.op: stage for stage in group.stages}
        self.copied = self.arena.copied(self.ops[key].output for key in keys)
        for sharding in of_group.ops:
            _check_cut(sharding, self.stages[sharding.op], self.ops[sharding.op])
            if self.ops[sharding.op].packing is Packing.ESP_DEPTHWISE and sharding.kind is not Sharding.CORE_0:
                raise PlanError(f"operator {sharding.op}: ESP-NN's depthwise convolutions have one scratch, for core 0")
        if any(number == call[0] for call in self.plan.calls()):
            self.stretch += 1

    def execute(self, step: StageNest) -> None:
        key, y, rows = step.stage.op, step.done, [rows for rows, _ in step.reads()]
        if self.executed in self.of_group.barriers:
            self.stretch += 1
        serial = self.executed in self.of_group.serial
        sharding = OpSharding(key, Sharding.CORE_0) if serial else self.shardings[key]
        self.executed += 1
        for core in range(2):
            for marks, where in self._accesses(core, sharding, y, rows):
                self._touch(core, marks, where, key, y)

    def _accesses(self, core: int, sharding: OpSharding, y: int, rows: Sequence[range]) -> Iterator[tuple[Ints, Bytes]]:
        nbytes, behind = 2 * len(self.stages), core * max(op.core_1_counters for op in self.ops.values())
        yield self.written, self._run(Role.COUNTERS, self.number, behind, nbytes)
        if core == 0 and self.executed == 1:  # Core 0 copies weights before the first iteration.
            for tensor in self.copied:
                yield self.written, self._run(Role.WEIGHTS, tensor)
        if sharding.kind <= Sharding.CORE_1 and sharding.kind != core:
            return
        op, stage = self.ops[sharding.op], self.stages[sharding.op]
        if op.output in self.copied:
            yield self.read, self._run(Role.WEIGHTS, op.output)
        x0, x1, c0, c1 = _own(sharding, core, op)
        if op.moves is not None and not op.scatters:
            for operand, row, part in moved(op, y):
                if operand < len(op.inputs):
                    at = self._row(sharding.op, operand, row)
                    yield self.read, (at + part.start, 1, len(part), len(part))
        else:
            yield from self._windows(op, sharding, (x0, x1, c0, c1), rows)
        at = self._row(sharding.op, -1, 0 if stage.iterative else y)
        yield self.written, (at + x0 * op.writes.c + c0, x1 - x0, c1 - c0, op.writes.c)
        if stage.iterative and not op.scatters:
            yield self.written, self._run(Role.ACCUMULATOR, op.output, 0, accumulators(op))
        if nbytes := kernel_scratch(stage, op, op.writes.w):
            behind = core * self._behind(sharding.op, nbytes)
            yield self.written, self._run(Role.SCRATCH, self.number, behind, nbytes)

    def _windows(
        self, op: RowOp, sharding: OpSharding, own: tuple[int, int, int, int], windows: Sequence[range]
    ) -> Iterator[tuple[Ints, Bytes]]:
        x0, x1, c0, c1 = own
        for k, (rows, seen) in enumerate(zip(windows, op.reads, strict=True)):
            left, right = _columns(op, k, x0, x1, self.stages[sharding.op].iterative)
            low, high = (c0, c1) if sharding.kind is Sharding.CHANNELS and op.is_depthwise else (0, seen.c)
            for row in rows:
                at = self._row(sharding.op, k, row)
                yield self.read, (at + left * seen.c + low, right - left, high - low, seen.c)

    def _row(self, key: int, k: int, y: int) -> int:
        """Return the address of row `y` of an operator's input `k`, or of the output if `k` is -1."""
        stripe, row, column = np.array([[0], [y], [0]])
        return int(self.places[key][k].at(stripe, row, column)[0])

    def _run(self, role: Role, key: int, first: int = 0, nbytes: int = 0) -> Bytes:
        """Return `nbytes` bytes of a private buffer, or all bytes if `nbytes` is 0."""
        buffer, at = self.arena.at(role, key, first + nbytes)
        return at + first, 1, nbytes or buffer.nbytes, nbytes or buffer.nbytes

    def _behind(self, key: int, nbytes: int) -> int:
        """Return the offset of core 1's scratch, which follows the scratch of core 0."""
        if self.ops[key].is_depthwise:
            nbytes = max(kernel_scratch(stage, self.ops[i], self.ops[i].writes.w) for i, stage in self.stages.items())
        return nbytes + -nbytes % 4

    def _touch(self, core: int, marks: Ints, where: Bytes, key: int, y: int) -> None:
        start, count, nbytes, step = where
        if count <= 0 or nbytes <= 0:
            return
        at = (start + np.arange(count)[:, None] * step + np.arange(nbytes)).ravel()
        if at[0] < 0 or at[-1] >= self.arena.end:
            raise PlanError(f"operator {key}, iteration {y}: byte {at[-1]} is outside of the arena")
        theirs = (self.written, self.read) if marks is self.written else (self.written,)
        for other in theirs:
            conflicts = other[1 - core][at] == self.stretch
            if conflicts.any():
                verb = "writes" if marks is self.written else "reads"
                did = "has written" if other is self.written else "has read"
                raise PlanError(
                    f"operator {key} {self.ops[key].name}, iteration {y}: "
                    f"core {core} {verb} byte {at[conflicts.argmax()]}, "
                    f"which core {1 - core} {did} since the last barrier",
                    where=f"group {self.number}, iteration {self.executed - 1}",
                )
        marks[core][at] = self.stretch


def _own(sharding: OpSharding, core: int, op: RowOp) -> tuple[int, int, int, int]:
    columns, channels = (0, op.writes.w), (0, op.writes.c)
    if sharding.kind is Sharding.COLUMNS:
        columns = ((0, sharding.cut), (sharding.cut, op.writes.w))[core]
    if sharding.kind is Sharding.CHANNELS:
        channels = ((0, sharding.cut), (sharding.cut, op.writes.c))[core]
    return *columns, *channels


def _columns(op: RowOp, k: int, x0: int, x1: int, iterative: bool) -> tuple[int, int]:
    width = op.reads[k].w
    if iterative or not (op.is_binary or op.has_window or width == op.writes.w):
        return 0, width
    seen = window(op, k, np.zeros(1, np.int64), np.array([x0]), np.array([x1]))
    return seen.left.item(), seen.right.item()


def _check_cut(sharding: OpSharding, stage: Stage, op: RowOp) -> None:
    whole = {Sharding.COLUMNS: op.writes.w, Sharding.CHANNELS: op.writes.c}.get(sharding.kind)
    if whole is None:
        return
    possible = op.cuts_columns if sharding.kind is Sharding.COLUMNS else op.cuts_channels
    if not 0 < sharding.cut < whole or stage.iterative or not possible:
        raise PlanError(f"operator {sharding.op} {op.name} cannot be cut at {sharding.cut} of {whole}")
