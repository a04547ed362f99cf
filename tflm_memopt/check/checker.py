"""Checks a plan independently of the planner, since TFLM does not notice buffers that overlap by mistake.

The checker replays every iteration of every operator. Each byte of the arena has a tag, which names the tensor byte
that was last written there. Whenever an operator reads a byte of the arena, the byte's tag must name the tensor byte
that the operator needs. Iterations have the phases of the C code (custom_ops/src/tmo_iterate.c). Most kernels are
assumed to write all outputs before they read their inputs (kernels.py).
"""

from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import TaggedArena
from tflm_memopt.check.cores import CoresReplay
from tflm_memopt.check.kernels import can_be_reversed
from tflm_memopt.check.nest import StageNest
from tflm_memopt.check.places import SourceReplay
from tflm_memopt.check.reads import check_reads
from tflm_memopt.check.replay import GroupReplay
from tflm_memopt.check.sliding import check_sliding
from tflm_memopt.check.states import StateReplay, check_outliving
from tflm_memopt.check.together import MessageRow
from tflm_memopt.errors import PlanError
from tflm_memopt.format.limits import MAX_IO
from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.model.variables import Variable, handles, is_stateful
from tflm_memopt.plan.plan import Builtin, Group, Plan, Role
from tflm_memopt.rowgraph.graph import BuiltinNode, RowGraph, StoredIn

ARENA_ALIGN = 16


class Others(NamedTuple):
    """Bytes of a shared arena that other models write while the checked model does not run."""

    foreign: NDArray[np.bool_]
    """Whether other models write the byte at an address while the checked model is between two inferences."""
    retained: Collection[TensorId] = ()
    """Outputs of the checked model that other models must not overwrite."""
    at_pauses: NDArray[np.bool_] | None = None
    """Whether other models write the byte at an address while the checked model pauses."""


class _Pauses:
    def __init__(self, arena: TaggedArena, plan: Plan, foreign: NDArray[np.bool_] | None) -> None:
        self.arena, self.foreign, self.done = arena, foreign, 0
        self.left = list(plan.pauses)
        alone = len(plan.calls()) == 1 and all(isinstance(step, Group) for step in plan.steps)
        if plan.pauses and (not alone or plan.states):
            raise PlanError("a plan with pauses must be one custom operator without a state")

    def executed(self, _: StageNest) -> None:
        self.done += 1
        if self.left and self.left[0] == self.done:
            del self.left[0]
            self.arena.wipe(self.foreign)

    def check(self) -> None:
        if self.left and self.foreign is not None:
            raise PlanError(f"the plan pauses after iteration {self.left[0]}, but has {self.done} iterations")


class KernelReplay:
    """Replays operators that TFLM's own kernels run."""

    def __init__(self, arena: TaggedArena, parts: Mapping[TensorId, StoredIn]) -> None:
        self.arena, self.parts = arena, parts

    def run(self, number: int, node: BuiltinNode) -> None:
        """Raise PlanError if a builtin operator could overwrite an input byte before the operator reads the byte."""
        who = f"builtin operator {node.op}"
        scratch = -(-node.scratch // 16) * 16
        self.arena.private(Role.SCRATCH, number, scratch)
        for tensor in node.orders:
            self.access(tensor, who)
        for output in node.outputs:
            for tensor in node.orders:
                self._keeps_apart(node, tensor, output, who)
            if not (node.copies and self._in_place(node, output)):
                self.access(output)
        for tensor in node.inputs:
            if tensor not in node.orders:
                self.access(tensor, who)
        self.arena.private(Role.SCRATCH, number, scratch, reader=lambda _: who)

    def access(self, tensor: TensorId, reader: object = None) -> None:
        """Write all bytes of a tensor, or read all bytes if the name of a reader is given."""
        self.arena.run(*self._run_of(tensor), reader)

    def start(self, tensor: TensorId) -> int:
        return self._run_of(tensor)[1]

    def _run_of(self, tensor: TensorId) -> tuple[TensorId, int, int, int]:
        part = self.parts.get(tensor, StoredIn(tensor))
        nbytes = self.arena.sizes[tensor]
        buffer, start = self.arena.at(Role.TENSOR, part.storage, part.first + nbytes)
        return buffer.key, start + part.first, part.first, nbytes

    def _in_place(self, node: BuiltinNode, output: TensorId) -> bool:
        storage, _, first, nbytes = self._run_of(output)
        others = (self._run_of(t) for t in node.inputs)
        return any(s == storage and f < first + nbytes and first < f + n for s, _, f, n in others)

    def _keeps_apart(self, node: BuiltinNode, tensor: TensorId, output: TensorId, who: str) -> None:
        order, start, end = node.orders[tensor](), self.start(tensor), self.start(output)
        low, high = max(start, end), min(start + len(order.last_read), end + len(order.written))
        if low >= high:
            return
        lost = order.last_read[low - start : high - start] > order.written[low - end : high - end]
        if lost.any():
            raise PlanError(
                f"{who}, tensor {tensor}: byte {low - start + int(lost.argmax())} is overwritten before it is read"
            )


def check(plan: Plan, graph: RowGraph, others: Others | None = None) -> Sequence[MessageRow]:
    """Raise PlanError if an operator of the plan would read a byte that was overwritten.

    The argument `others` describes the other models in the same arena. Return the rows that the model exchanges with
    other devices, in the order of the messages (together.py).
    """
    check_reads(graph)
    if graph.window:
        check_sliding(graph)
    check_outliving(graph)
    arena = TaggedArena(plan, {t: graph.model.tensors[t].nbytes for t in graph.model.tensors})
    foreign = others.foreign if others else None
    pauses = _Pauses(arena, plan, others.at_pauses if others else None)
    source, states = SourceReplay(arena, graph.source, foreign), StateReplay(plan, graph)
    cores = CoresReplay(plan, arena, graph.ops)
    each = (states.execute, states.observes), (cores.execute, plan.shardings), (pauses.executed, plan.pauses)
    observers = [observe for observe, wanted in each if wanted]
    builtins = {node.op: node for node in graph.builtins}
    replay = KernelReplay(arena, graph.parts)
    for tensor in graph.model.inputs:
        if not source.is_source(tensor):
            replay.access(tensor)
    for number, step in enumerate(plan.steps):
        if isinstance(step, Builtin):
            replay.run(number, builtins[step.op])
        else:
            _check_order(step, graph)
            states.enter(step, graph.ops)
            group = GroupReplay(arena, number, step, graph.ops, source, states.rolling_buffers, observers)
            cores.enter(number, step, group.places)
            group.run()
            source.end_of_group()
            arena.settle()
    done = [s.op for step in plan.steps for s in ([step] if isinstance(step, Builtin) else step.stages)]
    expected = [*builtins, *(i for region in graph.regions for i in region.ops)]
    if sorted(done) != sorted(expected):
        raise PlanError(f"the plan runs operators {sorted(done)}, but the graph has {sorted(expected)}")
    states.check()
    pauses.check()
    _check_variables(done, graph.model)
    for tensor in graph.model.outputs:
        replay.access(tensor, "the model's output")
    if others:
        arena.wipe(foreign)
        for tensor in others.retained:
            replay.access(tensor, "the model's output, retained")
    arena.settle()
    _check_tensors(plan, graph, replay)
    return states.messages


def _check_order(group: Group, graph: RowGraph) -> None:
    for stage in group.stages if group.is_reversed else ():
        op = graph.ops[stage.op]
        if graph.source and graph.source.tensor in op.inputs:
            raise PlanError(f"{op.name} cannot run from the last row to the first: it reads the caller's rows")
        if group.stripes and not stage.stripes(group.stripes):
            raise PlanError(f"{op.name} cannot run row by row among tiles that run from the last to the first")
        if not can_be_reversed(op, pixels=group.stripes > 0):
            raise PlanError(f"{op.name} cannot run from the last row to the first: its result depends on the order")


def _check_tensors(plan: Plan, graph: RowGraph, replay: KernelReplay) -> None:
    handed = [(call, _handed_over(plan.operators(call), graph)) for call in plan.calls()]
    builtin = (t for node in graph.builtins for t in (*node.inputs, *node.outputs))
    for tensor in {*graph.model.inputs, *graph.model.outputs, *builtin}.union(*(tensors for _, tensors in handed)):
        if replay.start(tensor) >= max(1, plan.head):
            raise PlanError(f"tensor {tensor} is in slow memory, but TFLM places it")
        if replay.start(tensor) % ARENA_ALIGN:
            raise PlanError(f"tensor {tensor} starts at {replay.start(tensor)}, not at a multiple of {ARENA_ALIGN}")
    for call, tensors in handed:
        if len(tensors) > MAX_IO:
            raise PlanError(
                f"region {min(plan.operators(call))} has {len(tensors)} inputs and outputs, more than {MAX_IO}"
            )


def _check_variables(done: list[int], graph: Graph) -> None:
    """Raise PlanError if operators that use the same variable run in another order than in the model."""
    position = {key: n for n, key in enumerate(done)}
    named = handles(graph)
    touched: list[tuple[int, Variable | None]] = []
    for op in graph.ops:
        if op.index in position and is_stateful(graph, op):
            name = next((named[t] for t in (*op.inputs, *op.outputs) if t in named), None)
            for before, other in touched:
                if (name is None or other in (None, name)) and position[before] > position[op.index]:
                    raise PlanError(
                        f"operator {op.index} {op.kind} runs before operator {before}, whose variable it uses"
                    )
            touched.append((op.index, name))


def _handed_over(call: Collection[int], graph: RowGraph) -> set[TensorId]:
    inside, others = ([op for i, op in graph.ops.items() if (i in call) is own] for own in (True, False))
    made, read = {op.output for op in inside}, {t for op in inside for t in op.inputs}
    wanted = set(graph.model.outputs).union(*(op.inputs for op in others), *(node.inputs for node in graph.builtins))
    return (read - made - graph.outside) | ((made & wanted) - graph.slow)


class Sharer(NamedTuple):
    name: str
    plan: Plan
    graph: RowGraph
    retained: Collection[TensorId] = ()
    """Outputs of the model that stay valid until the model runs again."""
    slow_at: int = 0
    """Offset of the model's part of the slow memory that all models share."""


def check_together(
    sharers: Sequence[Sharer], concurrent_pairs: Collection[tuple[int, int]], yields: Collection[tuple[int, int]] = ()
) -> None:
    """Raise PlanError if one of several models in an arena could overwrite a byte that another model still needs.

    While model A is paused, and after it has ended, any other model B may run. B may overwrite every byte that B's plan
    uses. Other models run between two inferences of a model, and while the model waits for rows of a streamed input.
    Two models that run at the same time must have no byte in common.

    The models of each pair in `concurrent_pairs` run at the same time. A pair (i, j) in the argument `yields` means
    that model j may run while model i pauses.
    """
    head = max((sharer.plan.head for sharer in sharers), default=0)
    written = [_written(sharer.plan, head) for sharer in sharers]
    for i, j in concurrent_pairs:
        if both := np.flatnonzero(written[i] & written[j]).tolist():
            raise PlanError(
                f"'{sharers[i].name}' and '{sharers[j].name}' run at the same time and both write byte {both[0]}"
            )
    _check_slow(sharers, {*concurrent_pairs, *yields})
    for i, sharer in enumerate(sharers):
        source, shorter = sharer.graph.source, [j for who, j in yields if who == i]
        none = np.zeros(head, np.bool_)
        foreign = reduce(np.logical_or, (mask for j, mask in enumerate(written) if j != i), none)
        paused = reduce(np.logical_or, (written[j] for j in shorter), none)
        if sharer.retained or shorter or (source and source.pushed):
            try:
                others = Others(foreign, sharer.retained, paused if shorter else None)
                check(sharer.plan, sharer.graph, others)
            except PlanError as error:
                raise PlanError(f"'{sharer.name}' together with others: {error.what}") from error


def _check_slow(sharers: Sequence[Sharer], concurrent_pairs: Collection[tuple[int, int]]) -> None:
    for i, one in enumerate(sharers):
        for j, other in enumerate(sharers):
            waits = one.graph.source is not None and one.graph.source.pushed > 0
            if i == j or not (waits or (i, j) in concurrent_pairs):
                continue
            first, end = max(one.slow_at, other.slow_at), min(x.slow_at + x.plan.slow_bytes for x in (one, other))
            if first < end:
                raise PlanError(f"'{one.name}' and '{other.name}' have byte {first} of slow memory in common")


def _written(plan: Plan, head: int) -> NDArray[np.bool_]:
    mask = np.zeros(head, np.bool_)
    for buffer, offset in plan.placed():
        mask[offset : offset + buffer.nbytes] = True
    return mask
