"""Chooses one plan for each of several models, so that all models fit the arena and run as often as required.

The choice of plans is a problem from chapter 6 of Minakova's thesis, and CP-SAT finds the optimum.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tflm_memopt.plan import cp_sat

SECONDS = 20.0
SEED = 23


@dataclass(frozen=True, slots=True)
class Point:
    head: int
    tail: int
    load: int
    """Processor load of the model, in the same unit for all models."""
    busy: int = 0
    """Fraction of a core's time that the model takes, in millionths."""


ALL_THE_TIME = 1_000_000


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores that run different models at the same time."""

    count: int = 1
    sets: Sequence[Collection[int]] = ()
    """Sets of indices of models that run on the same core, or () if all models run on one core."""

    def spread(self, busy: Sequence[int]) -> tuple[int, ...]:
        cp_model = cp_sat.load()

        model = cp_model.CpModel()
        worst = model.new_int_var(0, sum(busy), "worst")
        cores = self.placed(model, busy, worst, sum(busy))
        model.minimize(worst)
        solver = cp_sat.solver(SECONDS, SEED)
        solver.solve(model)
        return tuple(next(core for core, on in enumerate(row) if solver.value(on)) for row in cores)

    def loads(self, busy: Sequence[int]) -> tuple[float, ...]:
        """Return the fraction of each core's time that its models take. The argument `busy` has the fraction of a
        core's time that each model takes, in millionths.
        """
        used = [0] * self.count
        for core, time in zip(self.spread(busy), busy, strict=True):
            used[core] += time
        return tuple(time / ALL_THE_TIME for time in used)

    def placed(self, model: Any, busy: Sequence[Any], most: Any, whole: int) -> list[list[Any]]:
        """For each model and core, return a variable that is 1 if the core runs the model. The argument `busy` has the
        work of each model, and `whole` is at least the sum of all work.
        """
        cores: list[list[Any]] = [[] for _ in busy]
        used: list[list[Any]] = [[] for _ in range(self.count)]
        for number, members in enumerate(self.sets or [range(len(busy))]):
            row = [model.new_bool_var(f"set_{number}_{core}") for core in range(self.count)]
            model.add_exactly_one(row)
            for member in members:
                cores[member] = row
            for on, parts in zip(row, used, strict=True):
                parts.append(model.new_int_var(0, whole, ""))
                model.add(parts[-1] == sum(busy[i] for i in members)).only_enforce_if(on)
        for parts in used:
            model.add(sum(parts) <= most)
        return cores


@dataclass(frozen=True, slots=True)
class Selection:
    points: tuple[int, ...]
    ram: int
    load: int
    proven: bool


@dataclass(frozen=True, slots=True)
class Choices:
    models: Sequence[Sequence[Point]]
    concurrent_pairs: Collection[tuple[int, int]]
    once: int = 0
    """Number of bytes that the models save because they share one allocator of TFLM."""
    cores: Cores = Cores()
    align: int = 16

    def choose(self, *, ram: int | None = None, load: int | None = None, least_ram: bool = True) -> Selection | None:
        """Return the choice with the least RAM and, among equals, the least load, or None if no choice meets the
        limits.

        If the argument `least_ram` is false, choose the least load and, among equals, the least RAM.
        """
        first = self._solved(ram, load, least_ram=least_ram)
        if first is None:
            return None
        limits = (first.ram, load) if least_ram else (ram, first.load)
        found = self._solved(*limits, least_ram=not least_ram) or first
        return replace(found, proven=first.proven and found.proven)

    def frontier(self, load: int | None = None) -> Iterator[Selection]:
        """Yield the choices for which no other choice is better in both RAM and load, least load first."""
        ram: int | None = None
        while (found := self.choose(ram=ram, load=load, least_ram=False)) is not None:
            yield found
            ram = found.ram - 1

    def _solved(self, ram: int | None, load: int | None, *, least_ram: bool) -> Selection | None:
        cp_model = cp_sat.load()

        model = cp_model.CpModel()
        takes = [[model.new_bool_var(f"{i}_{p}") for p in range(len(each))] for i, each in enumerate(self.models)]
        for row in takes:
            model.add_exactly_one(row)

        def taken(of: Callable[[Point], int]) -> list[Any]:
            both = zip(takes, self.models, strict=True)
            return [sum(of(p) * took for took, p in zip(row, each, strict=True)) for row, each in both]

        heads = taken(lambda p: -(-p.head // self.align))
        most = sum(-(-max(p.head for p in each) // self.align) for each in self.models)
        start = [model.new_int_var(0, most, f"start_{i}") for i in range(len(self.models))]
        top = model.new_int_var(0, most, "top")
        for base, head in zip(start, heads, strict=True):
            model.add(base + head <= top)
        for i, j in self.concurrent_pairs:
            below = model.new_bool_var(f"{i}_below_{j}")
            model.add(start[i] + heads[i] <= start[j]).only_enforce_if(below)
            model.add(start[j] + heads[j] <= start[i]).only_enforce_if(~below)
        loads, busy = sum(taken(lambda p: p.load)), taken(lambda p: p.busy)
        bytes_ = self.align * top + sum(taken(lambda p: p.tail)) - self.once
        self.cores.placed(model, busy, ALL_THE_TIME, sum(max(p.busy for p in each) for each in self.models))
        if ram is not None:
            model.add(bytes_ <= ram)
        if load is not None:
            model.add(loads <= load)
        model.minimize(bytes_ if least_ram else loads)
        solver = cp_sat.solver(SECONDS, SEED)
        status = solver.solve(model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        points = tuple(next(p for p, v in enumerate(row) if solver.value(v)) for row in takes)
        return Selection(points, int(solver.value(bytes_)), int(solver.value(loads)), status == cp_model.OPTIMAL)
