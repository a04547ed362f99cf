"""Compare the arena bytes that the C executor accesses with those that the checker expects."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from cores.cases import Case, blob
from numpy.typing import NDArray

from tflm_memopt.check.arena import TaggedArena
from tflm_memopt.check.checker import check
from tflm_memopt.check.cores import Bytes, CoresReplay
from tflm_memopt.check.replay import GroupReplay
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import Group, Plan, Role
from tflm_memopt.runtime import regions


@dataclass
class Touched:
    """Bytes of the arena, by address."""

    nbytes: int
    read: NDArray[np.bool_] = field(init=False)
    written: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.read, self.written = np.zeros((2, self.nbytes), np.bool_)

    def add(self, first: int, nbytes: int, *, written: bool) -> None:
        (self.written if written else self.read)[first : first + nbytes] = True

    def beyond(self, expected: Touched) -> str:
        """Describe the accessed bytes that were not expected. A byte that may be written may also be read."""
        reads = np.flatnonzero(self.read & ~(expected.read | expected.written)).tolist()
        writes = np.flatnonzero(self.written & ~expected.written).tolist()
        return f"reads {reads}, writes {writes}" if reads or writes else ""


Key = tuple[int, int, int]
"""Key of accesses: a custom operator, its iteration or the stretch between two barriers, and the core."""
Touches = Mapping[Key, Touched]


def surprises(touches: Touches, expected: Touches) -> dict[Key, str]:
    """Return descriptions of bytes that the executor accesses and the checker does not expect."""
    found = {key: here.beyond(expected.get(key, Touched(here.nbytes))) for key, here in touches.items()}
    return {key: said for key, said in found.items() if said}


def by_executor(executor: Path, planned: Planned, model: bytes, cores: int) -> Touches:
    """Run touches.c; return the arena bytes that the executor accesses in an inference. States are not in the arena."""
    graph = read(model).graph
    found = regions.regions(read(model))
    cases = [_case(model, region, graph) for region in found]
    path = executor.with_suffix(".bin")
    path.write_bytes(blob(cases))
    said = subprocess.run([executor, path, str(cores)], capture_output=True, check=True, timeout=600).stdout
    lowest = [_lowest(model, region) for region in found]
    touches: dict[Key, Touched] = {}
    for call, step, core, written, first, end in np.frombuffer(said, "<u4").reshape(-1, 6).tolist():
        state = cases[call].arena.state
        here = touches.setdefault((call, step, core), Touched(planned.plan.head))
        if state is None or first < state:
            if end + lowest[call] > planned.plan.head:
                raise ValueError(f"byte {end + lowest[call] - 1} is outside of the plan's {planned.plan.head}")
            here.add(first + lowest[call], end - first, written=bool(written))
    return touches


def _case(model: bytes, region: regions.CustomOperator, graph: Graph) -> Case:
    inputs, outputs = (
        [np.zeros(graph.tensors[t].nbytes, np.int8) for t in ts] for ts in (region.inputs, region.outputs)
    )
    return Case(region.program, regions.placement(read(model), region), inputs, outputs)


def _lowest(model: bytes, region: regions.CustomOperator) -> int:
    """Return the address of the region's lowest buffer, which has address 0 in its case."""
    return min(regions.planned(read(model), (*region.inputs, *region.outputs, *region.own)).values(), default=0)


def by_two_cores(planned: Planned) -> Touches:
    """Return the bytes that check/cores.py expects between barriers."""
    calls = planned.plan.calls()
    begun: dict[int, int] = {}
    touches: dict[Key, Touched] = {}
    touch = CoresReplay._touch

    def record(self: CoresReplay, core: int, marks: Any, where: Bytes, *rest: int) -> None:
        call = next(i for i, steps in enumerate(calls) if self.number in steps)
        stretch = self.stretch - begun.setdefault(call, self.stretch)
        here = touches.setdefault((call, stretch, core), Touched(planned.plan.head))
        start, count, nbytes, step = where
        for i in range(count):
            here.add(start + i * step, nbytes, written=marks is self.written)
        touch(self, core, marks, where, *rest)

    with mock.patch.object(CoresReplay, "_touch", record):
        check(planned.plan, planned.graph)
    return touches


def by_one_core(planned: Planned) -> Touches:
    """Return the bytes that the checker's replay expects of each iteration. Each iteration may access its group's
    counters.
    """
    plan = planned.plan
    touches: dict[Key, Touched] = {}
    with _recorded(plan.head) as iterations:
        check(plan, planned.graph)
    left = iter(iterations)
    for call, steps in enumerate(plan.calls()):
        counters = [counters_of(plan, number) for number in steps]
        of_group = [n for n, number in enumerate(steps) for _ in range(group_at(plan, number).iterations)]
        for number, n in enumerate(of_group):
            here = touches[call, number, 0] = next(left)
            here.add(*counters[n], written=True)
    return touches


def group_at(plan: Plan, number: int) -> Group:
    """Return a step of the plan, which must be a group."""
    group = plan.steps[number]
    if not isinstance(group, Group):
        raise TypeError(f"step {number} is not a group")
    return group


def counters_of(plan: Plan, number: int) -> tuple[int, int]:
    """Return the address and size of a group's counters."""
    return next((at, b.nbytes) for b, at in plan.placed() if (b.role, b.key) == (Role.COUNTERS, number))


@contextmanager
def _recorded(head: int) -> Iterator[Sequence[Touched]]:
    """Record the bytes that the replay accesses in each iteration. The proof that avoids a replay is disabled."""
    iterations: list[Touched] = []
    execute = GroupReplay._execute

    def executes(self: GroupReplay, step: Any) -> None:
        iterations.append(Touched(head))
        execute(self, step)

    def add(first: int, nbytes: int, *, written: bool) -> None:
        if iterations:
            iterations[-1].add(first, nbytes, written=written)

    def runs(written: bool) -> Callable[..., None]:
        return lambda _self, _content, at, _first, nbytes, *_: add(at, nbytes, written=written)

    def write_pixels(_self: TaggedArena, at: Any, _marks: Any, nbytes: int) -> None:
        for first in at.ravel().tolist():
            add(first, nbytes, written=True)

    def read_pixels(_self: TaggedArena, _tensor: int, at: Any, _marks: Any, nbytes: int, _who: object) -> None:
        for first in at.ravel().tolist():
            add(first, nbytes, written=False)

    def read_rows(self: TaggedArena, tensor: int, first: int, end: int, row_bytes: int, _who: object) -> None:
        for row in range(first, end):
            add(self.span(tensor, row, row_bytes), row_bytes, written=False)

    def copy(_self: TaggedArena, source: int, target: int, nbytes: int) -> None:
        add(source, nbytes, written=False)
        add(target, nbytes, written=True)

    watched = {
        "write_run": runs(written=True), "read_run": runs(written=False), "write_pixels": write_pixels,
        "read_pixels": read_pixels, "read_rows": read_rows, "copy": copy,
    }  # fmt: skip
    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(GroupReplay, "_execute", executes))
        patches.enter_context(mock.patch("tflm_memopt.check.checker.proved", return_value=False))
        for name, note in watched.items():
            patches.enter_context(mock.patch.object(TaggedArena, name, _noting(getattr(TaggedArena, name), note)))
        yield iterations


def _noting(method: Callable[..., None], note: Callable[..., None]) -> Callable[..., None]:
    def noting(*given: Any) -> None:
        note(*given)
        method(*given)

    return noting
