"""The independent checker: replays every firing of a plan on the bytes of the arena, naively, and refuses a plan that
loses one.

TFLM itself checks nothing: an overlap that is wrong by a byte corrupts silently. So every byte of the arena carries a
tag, the tensor and the byte of it that was last written there; each byte that a firing reads must carry the tag of what
it wants. Nothing here is shared with the planner, neither code nor ideas: a firing is replayed as the executor does it
(custom_ops/src/tmo_run.c), its writes before its reads unless the kernel is declared to work in place.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.model.rowop import RowOp
from tflm_memopt.plan.plan import Block, Buffer, Builtin, Plan, Role
from tflm_memopt.plan.regions import Kept, Partition

ARENA_ALIGN = 16
LEAST_ALIGN = {Role.ACCUMULATOR: 4, Role.COUNTERS: 2}
"""int32 and uint16; everything else is bytes."""


def check(plan: Plan, graph: Graph, partition: Partition) -> None:
    """Raises PlanError, naming operator, row and byte, unless every read of each step finds what was written for it."""
    arena = _Arena(plan, {t: graph.tensors[t].nbytes for t in graph.tensors})
    for tensor in graph.inputs:
        arena.write_whole(tensor)
    kept = {node.op: node for node in partition.nodes if isinstance(node, Kept)}
    done: list[int] = []
    for number, step in enumerate(plan.steps):
        if isinstance(step, Builtin):
            _builtin(arena, kept[step.op])
            done.append(step.op)
        else:
            _Replay(arena, number, step, partition.ops).run()
            done += [stage.op for stage in step.stages]
    expected = [*kept, *(i for node in partition.nodes if not isinstance(node, Kept) for i in node.ops)]
    if sorted(done) != sorted(expected):
        raise PlanError(f"the plan runs operators {sorted(done)}, the graph has {sorted(expected)}")
    for tensor in graph.outputs:
        arena.read_whole(tensor, "the model's output")
    tflm = {*graph.inputs, *graph.outputs, *(t for node in partition.nodes for t in (*node.inputs, *node.outputs))}
    for tensor in tflm:
        if arena.start(tensor) % ARENA_ALIGN:
            raise PlanError(f"tensor {tensor} starts at {arena.start(tensor)}, not at a multiple of {ARENA_ALIGN}")


def _builtin(arena: _Arena, node: Kept) -> None:
    for tensor in node.outputs:
        arena.write_whole(tensor)
    for tensor in node.inputs:
        arena.read_whole(tensor, f"builtin operator {node.op}")


class _Arena:
    """One tag per byte. A tag is the number of a buffer's content and the byte of it."""

    def __init__(self, plan: Plan, sizes: Mapping[TensorId, int]) -> None:
        self.sizes = sizes
        self.tags = np.full(plan.head, -1, dtype=np.int64)
        self.home = {(b.role, b.key): (b, o) for b, o in plan.placed()}
        self._base: dict[object, int] = {}
        for buffer, offset in plan.placed():
            align = max(buffer.align, LEAST_ALIGN.get(buffer.role, 1))
            if offset < 0 or offset % align or offset + buffer.nbytes > plan.head:
                raise PlanError(f"{buffer} at {offset} is misaligned or outside of the head of {plan.head} bytes")

    def start(self, tensor: TensorId) -> int:
        return self._home(Role.TENSOR, tensor)[1]

    def span(self, tensor: TensorId, row: int, row_bytes: int) -> int:
        """Where a row lives: in the tensor's ring, else in the whole tensor."""
        if (Role.RING, tensor) in self.home:
            buffer, offset = self.home[Role.RING, tensor]
            if row_bytes * buffer.depth != buffer.nbytes:
                raise PlanError(
                    f"ring of tensor {tensor}: {buffer.depth} rows of {row_bytes} bytes are not {buffer.nbytes}"
                )
            return offset + row % buffer.depth * row_bytes
        buffer, offset = self._home(Role.TENSOR, tensor)
        if (row + 1) * row_bytes > buffer.nbytes:
            raise PlanError(f"row {row} of {row_bytes} bytes is outside of tensor {tensor}")
        return offset + row * row_bytes

    def write(self, tensor: TensorId, row: int, row_bytes: int) -> None:
        at = self.span(tensor, row, row_bytes)
        self.tags[at : at + row_bytes] = self._tags(tensor, row * row_bytes, row_bytes)

    def read(self, tensor: TensorId, row: int, row_bytes: int, who: str) -> None:
        at = self.span(tensor, row, row_bytes)
        self._expect(
            self.tags[at : at + row_bytes],
            self._tags(tensor, row * row_bytes, row_bytes),
            f"{who}, row {row} of tensor {tensor}",
        )

    def write_whole(self, tensor: TensorId) -> None:
        buffer, at = self._home(Role.TENSOR, tensor, self.sizes[tensor])
        self.tags[at : at + buffer.nbytes] = self._tags(tensor, 0, buffer.nbytes)

    def read_whole(self, tensor: TensorId, who: str) -> None:
        buffer, at = self._home(Role.TENSOR, tensor, self.sizes[tensor])
        self._expect(
            self.tags[at : at + buffer.nbytes], self._tags(tensor, 0, buffer.nbytes), f"{who}, tensor {tensor}"
        )

    def write_private(self, role: Role, key: int, nbytes: int) -> None:
        buffer, at = self._home(role, key, nbytes)
        self.tags[at : at + buffer.nbytes] = self._tags((role, key), 0, buffer.nbytes)

    def read_private(self, role: Role, key: int, who: str) -> None:
        buffer, at = self._home(role, key)
        self._expect(
            self.tags[at : at + buffer.nbytes], self._tags((role, key), 0, buffer.nbytes), f"{who}, {role.value} {key}"
        )

    def _home(self, role: Role, key: int, nbytes: int = 0) -> tuple[Buffer, int]:
        """The buffer and its offset; it must have so many bytes at least."""
        if (role, key) not in self.home:
            raise PlanError(f"no {role.value} buffer for {key}")
        if self.home[role, key][0].nbytes < nbytes:
            raise PlanError(
                f"{role.value} {key} needs {nbytes} bytes, the plan gives it {self.home[role, key][0].nbytes}"
            )
        return self.home[role, key]

    def _tags(self, content: object, first: int, nbytes: int) -> NDArray[np.int64]:
        base = self._base.setdefault(content, len(self._base) << 40)
        return np.arange(base + first, base + first + nbytes, dtype=np.int64)

    def _expect(self, found: NDArray[np.int64], wanted: NDArray[np.int64], what: str) -> None:
        wrong = np.flatnonzero(found != wanted)
        if len(wrong):
            raise PlanError(f"{what}: byte {int(wrong[0])} was overwritten or never written")


class _Replay:
    """One block, fired on demand as tmo_run() does."""

    def __init__(self, arena: _Arena, number: int, block: Block, ops: Mapping[int, RowOp]) -> None:
        self.arena, self.number, self.block = arena, number, block
        self.stages = {stage.op: stage for stage in block.stages}
        self.ops = {key: ops[key] for key in self.stages}
        self.producer = {self.ops[key].output: key for key in self.stages}
        self.fired = dict.fromkeys(self.stages, 0)

    def run(self) -> None:
        self.arena.write_private(Role.COUNTERS, self.number, 2 * len(self.stages))
        for sink in self.block.sinks:
            if sink not in self.stages:
                raise PlanError(f"block {self.number} wants all rows of operator {sink}, which is not in it")
            while self.fired[sink] < self._firings(sink):
                self._demand(sink)
        if sum(self.fired.values()) != self.block.firings:
            raise PlanError(
                f"block {self.number} fires {sum(self.fired.values())} times, the plan says {self.block.firings}"
            )

    def _demand(self, key: int) -> None:
        """One firing of an operator, after those of its producers that it needs."""
        waiting = [key]
        while waiting:
            missing = self._missing(waiting[-1])
            if missing is None:
                self._fire(waiting.pop())
            else:
                waiting.append(missing)

    def _missing(self, key: int) -> int | None:
        for k in self.stages[key].operands:
            producer = self.producer.get(self.ops[key].inputs[k])
            if producer is not None and self._produced(producer) < self._rows(key, k)[1]:
                return producer
        return None

    def _firings(self, key: int) -> int:
        return self.ops[key].reads[0].h if self.stages[key].iterative else self.ops[key].writes.h

    def _produced(self, key: int) -> int:
        return self.fired[key] // self._firings(key) if self.stages[key].iterative else self.fired[key]

    def _rows(self, key: int, k: int) -> tuple[int, int]:
        y = self.fired[key]
        return (y, y + 1) if self.stages[key].iterative else self.ops[key].rows_read(k, y)

    def _fire(self, key: int) -> None:
        stage, op, arena = self.stages[key], self.ops[key], self.arena
        who = f"operator {key} {op.name}, firing {self.fired[key]}"
        last = self.fired[key] == self._firings(key) - 1
        if stage.iterative and self.fired[key] == 0:
            arena.write_private(Role.ACCUMULATOR, op.output, 4 * op.writes.row_bytes)
        if op.in_place:
            self._read(key, op, who)
            self._in_order(op, self.fired[key], who)
            arena.write(op.output, self.fired[key], op.writes.row_bytes)
        else:
            if last or not stage.iterative:
                arena.write(op.output, 0 if stage.iterative else self.fired[key], op.writes.row_bytes)
            self._read(key, op, who)
        if stage.iterative:
            arena.read_private(Role.ACCUMULATOR, op.output, who)
        arena.read_private(Role.COUNTERS, self.number, who)
        self.fired[key] += 1

    def _read(self, key: int, op: RowOp, who: str) -> None:
        for k, tensor in enumerate(op.inputs):
            for row in range(*self._rows(key, k)):
                self.arena.read(tensor, row, op.reads[k].row_bytes, who)

    def _in_order(self, op: RowOp, row: int, who: str) -> None:
        """Front to back, each byte is read before its place is written: no output may start inside an input row."""
        to, nbytes = self.arena.span(op.output, row, op.writes.row_bytes), op.writes.row_bytes
        for tensor in op.inputs:
            at = self.arena.span(tensor, row, nbytes)
            if at < to < at + nbytes:
                raise PlanError(
                    f"{who}: the output starts {to - at} bytes behind the start of tensor {tensor} that it replaces"
                )
