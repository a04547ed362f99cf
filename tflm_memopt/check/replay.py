"""Replays a group for the checker, iteration by iteration, as the C function tmo_run() executes it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tflm_memopt.check.nest import StageNest, check_nest, run_order, steps_of
from tflm_memopt.check.places import check_at_once
from tflm_memopt.check.source import RunningGroup
from tflm_memopt.errors import PlanError
from tflm_memopt.plan.plan import Role


class Output(NamedTuple):
    last: int
    """Address of the last byte that an iteration writes, or -1 if it writes nothing."""
    write: Callable[[], None]


NO_OUTPUT = Output(-1, lambda: None)


class GroupReplay(ABC):
    """Replays one group. Subclasses replay rows or pixels."""

    counter_bytes: int

    def __init__(self, running: RunningGroup, observers: Sequence[Callable[[StageNest], None]]) -> None:
        """`observers` are the functions that are called after each iteration, with the operator that ran."""
        self.arena, self.number, self.group, ops, self.source, self.states = running
        self.observers, self.steps, self.executed = observers, steps_of(self.group, ops), 0

    @abstractmethod
    def _output(self, step: StageNest) -> Output:
        """Return what the operator's next iteration writes."""

    @abstractmethod
    def _read(self, step: StageNest) -> None:
        """Replay the reads of the operator's next iteration."""

    @abstractmethod
    def _in_order(self, step: StageNest) -> None:
        """Raise PlanError unless an operator that works in place reads each byte before it is overwritten."""

    @abstractmethod
    def _taken_in(self, step: StageNest, k: int, rows: range) -> int:
        """Return how many bytes of input k an iteration converts to int8 at once if it reads these rows."""

    def run(self) -> None:
        self.arena.write_private(Role.COUNTERS, self.number, self.counter_bytes * len(self.steps))
        copied = self.arena.copied(step.op.output for step in self.steps.values())
        for tensor in copied:
            self.arena.write_private(Role.WEIGHTS, tensor, 0)
        for step in self.steps.values():
            check_nest(step)
            check_at_once(self.arena, step)
        for step in run_order(self.number, self.group, self.steps):
            self._execute(step)
            for observe in self.observers:
                observe(step)
        if self.executed != self.group.iterations:
            raise PlanError(
                f"group {self.number} runs {self.executed} iterations, but the plan has {self.group.iterations}"
            )
        # Nothing may have overwritten counters and weights, which are written only once.
        self.arena.read_private(Role.COUNTERS, self.number, f"group {self.number}")
        for tensor in copied:
            self.arena.read_private(Role.WEIGHTS, tensor, f"group {self.number}")
        macs = sum(step.macs for step in self.steps.values())
        if macs != self.group.macs:
            raise PlanError(f"group {self.number} multiplies {macs} times, but the plan has {self.group.macs}")

    def _execute(self, step: StageNest) -> None:
        op, arena = step.op, self.arena
        scratch = step.scratch + (self._take_source(step) if self.source.source else 0)
        arena.write_scratch(self.number, scratch)
        if step.sums:
            if not step.opens[step.done]:
                arena.read_private(Role.ACCUMULATOR, op.output, step)
            arena.write_private(Role.ACCUMULATOR, op.output, step.sum_bytes)
        output = self._output(step)
        if step.in_place:
            self._read(step)
            self._in_order(step)
            output.write()
        elif step.ends_late:
            arena.write_late(output.last, output.write, lambda: self._read(step))
        else:
            output.write()
            self._read(step)
        arena.read_scratch(self.number, scratch, step)
        if step.sums:
            arena.read_private(Role.ACCUMULATOR, op.output, step)
        step.count()
        self.executed += 1

    def _take_source(self, step: StageNest) -> int:
        nbytes = 0
        for k, (rows, columns) in enumerate(step.reads()):
            if self.source.is_source(step.op.inputs[k]) and rows and columns:
                self.source.wait_for(rows[-1] + 1, step)
                nbytes += self._taken_in(step, k, rows)
        return self.source.converted(step.op, nbytes)
