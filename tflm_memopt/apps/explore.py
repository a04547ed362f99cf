"""Explores an application: an exact search chooses one plan for each model (plan/layout/choice.py)."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tflm_memopt.answers.convention import convention
from tflm_memopt.answers.exploration import PointReport
from tflm_memopt.apps.app import App, AppModel
from tflm_memopt.apps.members import AppMember, members_of, pairs, tail_once
from tflm_memopt.apps.pipeline import expanded
from tflm_memopt.apps.rates import bases, timer
from tflm_memopt.apps.results import AppExploration, AppPoint
from tflm_memopt.convert import describe, speed
from tflm_memopt.convert import instructions as by_instructions
from tflm_memopt.convert.conversion import Conversion
from tflm_memopt.convert.instructions import Costed
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.plan.effort import Progress
from tflm_memopt.plan.layout.choice import ALL_THE_TIME, Choices, Cores, Point, Selection
from tflm_memopt.tflm.arena import Arena


@dataclass(frozen=True, slots=True)
class AppChoices:
    app: App
    members: Sequence[AppMember]
    points: Sequence[Sequence[Costed]]
    """For each model, the plans that no other plan beats in both memory and work, or none for an unchanged model."""
    choices: Choices
    kept: Sequence[Sequence[int]]
    """For each model, the indices of the plans that keep the model's time limit."""

    def chosen(self, choice: Selection) -> dict[str, int]:
        """Return the index of each model's chosen plan, or 0 for a model that is not rewritten."""
        each = zip(self.members, self.kept, choice.points, strict=True)
        return {member.name: kept[point] for member, kept, point in each}

    def members_at(self, choice: Selection) -> list[AppMember]:
        numbers = self.chosen(choice)
        return [
            replace(m, chosen=points[numbers[m.name]].converted, why="") if points else m
            for m, points in zip(self.members, self.points, strict=True)
        ]


def explore_app(app: App, progress: Progress) -> AppExploration:
    """Return the frontier of an application: the least RAM for every amount of computation.

    Raises UsageError for a rate without a clock, and DoesNotFit if no plan is fast enough.
    """
    started = time.monotonic()
    app = expanded(app)
    found = space(app, members_of(app, progress), progress)
    progress("choosing points", 0, 0)
    choices = list(found.choices.frontier())
    first = found.members[0]
    return AppExploration(
        app=app.name,
        convention=convention(first.original.arena, *(str(m.asked.options.input) for m in found.members)),
        core=first.asked.table.core,
        models={m.name: _told(m, points) for m, points in zip(found.members, found.points, strict=True)},
        points=tuple(_point(found, choice) for choice in choices),
        proven=all(choice.proven for choice in choices),
        apart=sum(m.original.arena.total for m in found.members),
        times=bases(
            found.app,
            {m.name: each[0].work if each else () for m, each in zip(found.members, found.points, strict=True)},
            found.members,
        ),
        seconds=round(time.monotonic() - started, 3),
    )


def _told(member: AppMember, points: Sequence[Costed]) -> list[PointReport]:
    timer = speed.of_points(member.conversion, member.asked.clock, member.asked.table)
    return [describe.point(member.conversion, point, None, timer) for point in points]


def _point(space: AppChoices, choice: Selection) -> AppPoint:
    taken = [each[point] for each, point in zip(space.choices.models, choice.points, strict=True)]
    tail = sum(point.tail for point in taken) - space.choices.once
    rated = any(entry.fps for entry in space.app.models.values())
    loads = space.choices.cores.loads([point.busy for point in taken])
    busy = tuple(round(load, 4) for load in loads) if rated else None
    return AppPoint(space.chosen(choice), choice.ram, choice.ram - tail, tail, choice.load, busy)


def space(app: App, members: Sequence[AppMember], progress: Progress) -> AppChoices:
    points = [_points(member, progress) for member in members]
    times = [_times(app.models[m.name], m, each) for m, each in zip(members, points, strict=True)]
    kept, models = [], []
    for member, each, milliseconds in zip(members, points, times, strict=True):
        entry = app.models[member.name]
        numbers = _in_time(member.name, entry, milliseconds)
        kept.append(numbers)
        models.append([_taken(member, entry, each, milliseconds, n) for n in numbers])
    numbered = {(i, j) for i in range(len(members)) for j in range(i) if members[i].holds or members[j].holds}
    cores = Cores(app.model_cores, app.on_one_core())
    found = Choices(models, numbered | pairs(app), tail_once(members), cores=cores)
    _in_time_of(cores, members, models)
    return AppChoices(app, members, points, found, kept)


def _points(member: AppMember, progress: Progress) -> list[Costed]:
    asked = member.asked.exploring()
    conversion = asked.conversion(member.task.given.data)
    if conversion.rows is None:
        return []
    planning = partial(progress, f"{member.name}: planning points")
    timed = speed.of_points(conversion, asked.clock, asked.table)
    cost = by_instructions.known_cost(conversion, asked.cost, asked.table, timed)
    found = by_instructions.frontier(conversion, cost, asked.table, asked.clock, planning)
    overhead = member.asked.limits.overhead
    most = math.inf if overhead is None else conversion.macs(overhead)
    return [*([point for point in found if point.plan.macs <= most] or found[:1]), *_in_less_memory(member, conversion)]


def _in_less_memory(member: AppMember, conversion: Conversion) -> Iterator[Costed]:
    slow = member.asked.limits.slow
    if slow is None or not slow.asked:
        return
    if slow.clock is None:
        raise UsageError(
            "the time of bytes in slow memory is unknown",
            code="time_unknown",
            where=f"models.{member.name}",
            hint="use a board with external_ram_cycles, or omit fps, ms and yield",
        )
    yield from by_instructions.in_less_memory(conversion, slow, member.asked.table)


def _times(entry: AppModel, member: AppMember, points: Sequence[Costed]) -> list[float | None]:
    if entry.most is None:
        return [None] * max(1, len(points))
    if not points and entry.ms_measured is not None:
        return [entry.ms_measured]
    timed = timer(member, entry, points[0].work if points else ())
    return [timed.milliseconds(point.work, point.converted.slow_moved) for point in points]


def _in_time(name: str, entry: AppModel, milliseconds: Sequence[float | None]) -> list[int]:
    """Return the indices of plans within a model's time limit. Raises DoesNotFit if all plans are too slow."""
    if entry.most is None:
        return list(range(len(milliseconds)))
    found = [n for n, ms in enumerate(milliseconds) if ms is not None and ms <= entry.most]
    if not found:
        least = min(ms for ms in milliseconds if ms is not None)
        raise DoesNotFit(
            f"'{name}' takes at least {least:g} ms, and may take {entry.most:g} ms",
            code="too_slow",
            where=f"models.{name}, {len(milliseconds)} points",
            hint=f"set ms = {math.ceil(least)} or fps = {math.floor(1e5 / least) / 100:g}, or use a faster board",
        )
    return found


def _in_time_of(cores: Cores, members: Sequence[AppMember], models: Sequence[Sequence[Point]]) -> None:
    """Raise DoesNotFit if the models need more than a core's whole time even with their fastest plans."""
    least = [min(point.busy for point in each) for each in models]
    loads = cores.loads(least)
    if max(loads) > 1:
        binds = max(range(len(least)), key=lambda i: least[i])
        shares = ", ".join(f"'{m.name}' {n / 1e4:.1f} %" for m, n in zip(members, least, strict=True) if n)
        raise DoesNotFit(
            f"the models need {100 * max(loads):.1f} % of a core's time at their rates",
            code="too_slow",
            where=f"at the least: {shares}",
            hint=f"set a lower fps for '{members[binds].name}', which takes most, or use a faster board or target",
        )


def _waits(member: AppMember, point: Costed) -> float:
    """Return the factor by which slow memory lengthens an inference."""
    clock, moved = member.asked.clock, point.converted.slow_moved
    inside, whole = (clock.cycles(point.work), clock.cycles(point.work, moved)) if clock else (None, None)
    return whole[1] / inside[1] if any(moved) and inside and whole else 1.0


def _taken(
    member: AppMember, entry: AppModel, points: Sequence[Costed], milliseconds: Sequence[float | None], number: int
) -> Point:
    arena: Arena = points[number].converted.arena if points else member.original.arena
    instructions = points[number].instructions * _waits(member, points[number]) if points else member.original.macs
    ms = milliseconds[number]
    busy = math.ceil((entry.fps or 0) * ms * ALL_THE_TIME / 1000) if ms is not None else 0
    return Point(arena.head, arena.tail, round(instructions * (entry.fps or 1)), busy)
