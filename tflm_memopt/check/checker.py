"""The independent checker: replays every firing of a plan on the bytes of the arena, naively, and refuses a plan that
loses one.

TFLM itself checks nothing: an overlap that is wrong by a byte corrupts silently. So every byte of the arena carries a
tag, the tensor and the byte of it that was last written there; each byte that a firing reads must carry the tag of what
it wants. Nothing here is shared with the planner, neither code nor ideas: a firing is replayed as the executor does it
(custom_ops/src/tmo_fire.c), its writes before its reads unless the kernel is declared to work in place.

A tiled block fires hundreds of thousands of times. The same is proved of all its firings at once first
(proof.py); what is not proved is replayed (tiles.py), and that decides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import TaggedArena
from tflm_memopt.check.cores import CoresReplay
from tflm_memopt.check.frame import FrameReplay
from tflm_memopt.check.kernel import KernelReplay
from tflm_memopt.check.packed import kernel_scratch
from tflm_memopt.check.proof import proved
from tflm_memopt.check.states import StateReplay
from tflm_memopt.check.tiles import TiledReplay
from tflm_memopt.check.together import RowCrosses
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.plan import Block, Builtin, Plan, Role
from tflm_memopt.rowgraph.graph import MAX_IO, RowGraph

ARENA_ALIGN = 16
VARIABLE_OPS = ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
"""They see, through no tensor, what others of them did to a resource variable."""


class Others(NamedTuple):
    """What other models in the same arena do while this one does not run."""

    foreign: NDArray[np.bool_]
    """By address: bytes that they write."""
    retained: Collection[TensorId] = ()
    """Outputs that outlive that."""
    at_pauses: NDArray[np.bool_] | None = None
    """By address: bytes that are written at the plan's pauses."""


class _Pauses:
    """Between which firings a plan stops, and what others do then."""

    def __init__(self, arena: TaggedArena, plan: Plan, foreign: NDArray[np.bool_] | None) -> None:
        self.arena, self.foreign, self.done = arena, foreign, 0
        self.left = list(plan.pauses)
        """Those to come."""
        alone = len(plan.calls()) == 1 and all(isinstance(step, Block) for step in plan.steps)
        if plan.pauses and (not alone or plan.states):
            raise PlanError("a plan that pauses is one custom operator without a state", code="plan_pauses")

    @property
    def comes(self) -> bool:
        """Whether others are to write at a pause."""
        return bool(self.left) and self.foreign is not None

    def fired(self) -> None:
        """A firing is done."""
        self.done += 1
        if self.left and self.left[0] == self.done:
            del self.left[0]
            self.arena.wipe(self.foreign)

    def check(self) -> None:
        """Raises PlanError for a pause that never comes."""
        if self.comes:
            raise PlanError(f"the plan pauses after firing {self.left[0]} of {self.done}", code="plan_pause")


def check(plan: Plan, graph: RowGraph, others: Others | None = None) -> Sequence[RowCrosses]:
    """Raises PlanError, naming operator, row and byte, unless every read of each step finds what was written for it.

    others: write all their bytes whenever rows of a streamed input are waited for, and at the end.
    Gives the rows that go to other devices, and that come from them, in order (together.py).
    """
    arena = TaggedArena(plan, {t: graph.model.tensors[t].nbytes for t in graph.model.tensors})
    foreign = others.foreign if others else None
    pauses = _Pauses(arena, plan, others.at_pauses if others else None)
    frame, states = FrameReplay(arena, graph.frame, foreign), StateReplay(plan, graph)
    cores = CoresReplay(plan, arena, graph.ops)
    for tensor in graph.model.inputs:
        if not frame.is_frame(tensor):
            arena.write_whole(tensor)
    kept = {node.op: node for node in graph.kept}
    replay = KernelReplay(arena, graph.parts)
    done: list[int] = []
    for number, step in enumerate(plan.steps):
        if isinstance(step, Builtin):
            replay.run(number, kept[step.op])
            done.append(step.op)
        else:
            arena.turned = step.turned
            block = arena, number, step, graph.ops, frame
            states.enter(step, graph.ops)
            cores.enter(number, step)
            if not step.strips:
                _RowReplay(*block, states, (cores, pauses.fired)).run()
            elif pauses.comes or (frame.streams and foreign is not None) or not proved(*block):
                TiledReplay(*block, pauses.fired).run()
            frame.end_of_block()
            done += [stage.op for stage in step.stages]
    expected = [*kept, *(i for region in graph.regions for i in region.ops)]
    if sorted(done) != sorted(expected):
        raise PlanError(
            f"the plan runs operators {sorted(done)}, the graph has {sorted(expected)}", code="plan_operators"
        )
    states.check()
    pauses.check()
    _check_variables(done, graph.model)
    for tensor in graph.model.outputs:
        replay.read(tensor, "the model's output")
    if others:
        arena.wipe(foreign)
        for tensor in others.retained:
            replay.read(tensor, "the model's output, retained")
    _check_tensors(plan, graph, replay)
    return states.crossed


def _check_tensors(plan: Plan, graph: RowGraph, replay: KernelReplay) -> None:
    """What TFLM knows starts where TFLM wants it."""
    handed = [(call, _handed_over(plan.operators(call), graph)) for call in plan.calls()]
    builtin = (t for node in graph.kept for t in (*node.inputs, *node.outputs))
    for tensor in {*graph.model.inputs, *graph.model.outputs, *builtin}.union(*(tensors for _, tensors in handed)):
        if replay.start(tensor) % ARENA_ALIGN:
            raise PlanError(
                f"tensor {tensor} starts at {replay.start(tensor)}, not at a multiple of {ARENA_ALIGN}",
                code="plan_tensor_alignment",
            )
    for call, tensors in handed:
        if len(tensors) > MAX_IO:
            raise PlanError(
                f"region {min(plan.operators(call))} has {len(tensors)} inputs and outputs, more than {MAX_IO}",
                code="plan_width",
            )


def _check_variables(done: list[int], graph: Graph) -> None:
    """Raises PlanError where an operator runs before one of the model that may have left it a resource variable."""
    turn = {key: n for n, key in enumerate(done)}
    named = {t: op.options for op in graph.ops if op.type == "VAR_HANDLE" for t in op.outputs}
    touched: list[tuple[int, object]] = []
    for op in graph.ops:
        if op.type in VARIABLE_OPS and op.index in turn:
            tensors = [t for t in (*op.inputs, *op.outputs) if t in named]
            names = [named[tensors[0]].get(n) or b"" for n in ("container", "sharedName")] if tensors else None
            for before, others in touched:
                if (names is None or others is None or names == others) and turn[before] > turn[op.index]:
                    raise PlanError(
                        f"operator {op.index} {op.type} runs before operator {before}, whose variable it sees",
                        code="plan_variables",
                    )
            touched.append((op.index, names))


def _handed_over(call: Collection[int], graph: RowGraph) -> set[TensorId]:
    """The inputs and outputs of a custom operator that consists of these operators: TFLM places them."""
    inside, others = ([op for i, op in graph.ops.items() if (i in call) is own] for own in (True, False))
    made, read = {op.output for op in inside}, {t for op in inside for t in op.inputs}
    wanted = set(graph.model.outputs).union(*(op.inputs for op in others), *(node.inputs for node in graph.kept))
    return (read - made - graph.external) | (made & wanted)


class _RowReplay:
    """One block, fired on demand as tmo_run() does."""

    def __init__(
        self,
        arena: TaggedArena,
        number: int,
        block: Block,
        ops: Mapping[int, RowOp],
        frame: FrameReplay,
        states: StateReplay,
        watch: tuple[CoresReplay | None, Callable[[], None]] = (None, lambda: None),
    ) -> None:
        """watch: told of each firing, and after it."""
        self.arena, self.number, self.block, self.frame, self.states = arena, number, block, frame, states
        self.cores, self.tell = watch
        self.stages = {stage.op: stage for stage in block.stages}
        self.ops = {key: ops[key] for key in self.stages}
        self.producer = {self.ops[key].output: key for key in self.stages}
        self.fired = dict.fromkeys(self.stages, 0)
        self.rows = {(key, k): self._rows_of(key, k) for key in self.stages for k in range(len(self.ops[key].inputs))}
        """Half-open ranges of rows of input k that an operator's firings read."""

    def run(self) -> None:
        self.arena.write_private(Role.COUNTERS, self.number, 2 * len(self.stages))
        for sink in self.block.sinks:
            if sink not in self.stages:
                raise PlanError(
                    f"block {self.number} wants all rows of operator {sink}, which is not in it", code="plan_sink"
                )
            while self.fired[sink] < self._firings(sink):
                self._demand(sink)
        if sum(self.fired.values()) != self.block.firings:
            raise PlanError(
                f"block {self.number} fires {sum(self.fired.values())} times, the plan says {self.block.firings}",
                code="plan_firings",
            )
        macs = sum(op.macs * self.fired[key] // self._firings(key) for key, op in self.ops.items())
        if macs != self.block.macs:
            raise PlanError(
                f"block {self.number} multiplies {macs} times, the plan says {self.block.macs}", code="plan_macs"
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
            producer, (first, end) = self.producer.get(self.ops[key].inputs[k]), self._rows(key, k)
            if producer is not None and first < end and self._produced(producer) < end:
                return producer
        return None

    def _firings(self, key: int) -> int:
        return self.ops[key].reads[0].h if self.stages[key].iterative else self.ops[key].writes.h

    def _produced(self, key: int) -> int:
        return self.fired[key] // self._firings(key) if self.stages[key].iterative else self.fired[key]

    def _rows_of(self, key: int, k: int) -> list[tuple[int, int]]:
        op, y = self.ops[key], np.arange(self._firings(key))
        first, end = (y, y + 1) if self.stages[key].iterative else op.rows(k, y)
        if self.block.turned and not self.stages[key].iterative:
            first, end = op.reads[k].h - end[::-1], op.reads[k].h - first[::-1]
        return [*zip(first.tolist(), end.tolist(), strict=True)]

    def _rows(self, key: int, k: int) -> tuple[int, int]:
        y = self.fired[key]
        if y == len(self.rows[key, k]):
            raise PlanError(f"operator {key} fires {y} times, block {self.number} wants more", code="plan_rows")
        return self.rows[key, k][y]

    def _fire(self, key: int) -> None:
        stage, op, arena = self.stages[key], self.ops[key], self.arena
        who = f"operator {key} {op.name}, firing {self.fired[key]}"
        last = self.fired[key] == self._firings(key) - 1
        for k, tensor in enumerate(op.inputs):
            rows = self._rows(key, k)
            if self.frame.is_frame(tensor) and rows[1] > rows[0]:
                self.frame.wait_for(rows[1], who)
        scratch = kernel_scratch(stage, op, op.writes.w)
        scratch += self.frame.converted(op, sum(self._frame_bytes(key, k) for k in range(len(op.inputs))))
        arena.write_scratch(self.number, scratch)
        if stage.iterative and self.fired[key] == 0:
            arena.write_private(Role.ACCUMULATOR, op.output, 4 * op.writes.row_bytes)
        if op.in_place:
            self._read(key, op, who)
            self._in_order(op, self.fired[key], who)
            arena.write(op.output, self.fired[key], op.writes.row_bytes)
        elif op.leaves:  # its output is no part of the arena
            self._read(key, op, who)
        elif op.ends_late and not stage.iterative:
            y, nbytes = self.fired[key], op.writes.row_bytes
            end = arena.span(op.output, y, nbytes) + nbytes
            arena.write_late(end - 1, lambda: arena.write(op.output, y, nbytes), lambda: self._read(key, op, who))
        else:
            if last or not stage.iterative:
                arena.write(op.output, 0 if stage.iterative else self.fired[key], op.writes.row_bytes)
            self._read(key, op, who)
        arena.read_scratch(self.number, scratch, who)
        if stage.iterative:
            arena.read_private(Role.ACCUMULATOR, op.output, who)
        self.states.fires(op, self.fired[key], who)
        if self.cores:
            self.cores.fires(key, self.fired[key], [self._rows(key, k) for k in range(len(op.inputs))])
        arena.read_private(Role.COUNTERS, self.number, who)
        self.fired[key] += 1
        self.tell()

    def _read(self, key: int, op: RowOp, who: object) -> None:
        for k, tensor in enumerate(op.inputs):
            nbytes, (first, end) = op.reads[k].row_bytes, self._rows(key, k)
            if self.states.is_state(tensor) or op.receives:
                continue
            if not self.frame.is_frame(tensor):
                self.arena.read_rows(tensor, first, end, nbytes, who)
                continue
            for row in range(first, end):
                if (at := self.frame.address(row)) is not None:
                    self.arena.read_run(tensor, at, row * nbytes, nbytes, who)

    def _frame_bytes(self, key: int, k: int) -> int:
        """Bytes of an input outside of the arena that one firing takes in; 0 for any other input."""
        op = self.ops[key]
        first, end = self._rows(key, k)
        taps = len(range(first, end, op.window.dilation_h)) if k == 0 else max(end - first, 0)
        return taps * op.reads[k].row_bytes if self.frame.is_frame(op.inputs[k]) else 0

    def _in_order(self, op: RowOp, row: int, who: object) -> None:
        """Front to back, each byte is read before its place is written: no output may start inside an input row, nor
        touch one that is read again for the next pixel.
        """
        to, nbytes = self.arena.span(op.output, row, op.writes.row_bytes), op.writes.row_bytes
        for tensor, seen in zip(op.inputs, op.reads, strict=True):
            if self.states.is_state(tensor):
                continue
            y, long = min(row, seen.h - 1), seen.row_bytes
            at = self.frame.address(y) if self.frame.is_frame(tensor) else self.arena.span(tensor, y, long)
            if at is None:
                continue
            if at < to < at + long or (long < nbytes and to <= at < to + nbytes):
                raise PlanError(
                    f"{who}: the output starts {to - at} bytes behind the start of tensor {tensor} that it replaces",
                    code="plan_in_place",
                )
