"""Converts an application: converts each model alone, places all models in one arena, and checks the result."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.apps.app import App, bad_config
from tflm_memopt.apps.explore import space
from tflm_memopt.apps.members import AppMember, members_of, pairs
from tflm_memopt.apps.module import in_one_arena
from tflm_memopt.apps.pauses import Yielding, too_long, yielding
from tflm_memopt.apps.pipeline import expanded
from tflm_memopt.apps.rates import bases
from tflm_memopt.apps.results import AppOptimized, AppReport, CoreLoad, Pausing, Reserved
from tflm_memopt.check.checker import Sharer, check_together
from tflm_memopt.convert import describe
from tflm_memopt.convert.diagnostics import too_little_flash
from tflm_memopt.emit.firmware import firmware, modules_arena, together
from tflm_memopt.emit.resolver import builds, enough
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.plan import memory_map
from tflm_memopt.plan.drafts import TFLM_ALIGN
from tflm_memopt.plan.effort import Budget, Progress, allowance
from tflm_memopt.plan.iteration.pauses import live_at, live_out
from tflm_memopt.plan.layout import offsets as layout
from tflm_memopt.plan.layout.choice import ALL_THE_TIME, Cores
from tflm_memopt.plan.layout.joint import Shared, Tenant, share, within
from tflm_memopt.plan.memory_map import UNNAMED
from tflm_memopt.tflm.arena import Arena, head_plan, predict_together

SLOW_TRIES = 8
"""Maximum number of layouts that are tried if an application uses slow memory."""
HASTE = 2.0
"""Effort of the layout search (plan/effort.py) for each row of the report's table of pauses."""
Pair = tuple[int, int]
STREAMED, RETAINED = "kept while rows of its input are pushed", "retained"


def optimize_app(app: App, progress: Progress) -> AppOptimized:
    """Rewrite all models of an application for one shared arena.

    Raises UsageError for models that cannot share the arena as required. Raises DoesNotFit if all models together need
    more RAM or flash than the application has. Raises the errors of optimize() for each model.
    """
    started = time.monotonic()
    app = expanded(app)
    members = members_of(app, progress)
    if len({member.asked.options.abi for member in members}) > 1:
        raise bad_config("models in one arena need the same ABI", "abi", "set abi once, for the whole application")
    if any(entry.most is not None for entry in app.models.values()):
        found = _chosen(app, members, progress)
    else:
        decided = [member.decided(progress) for member in members]
        found = _laid_out(app, decided, progress)
        if (excess := _excess(app, found)) > 0:
            asked = any(m.asked.limits.slow and m.asked.limits.slow.asked for m in members)
            smaller = _in_two_memories(app, decided, excess, progress)
            found = smaller or (found if asked else _chosen(app, members, progress))
    check_app(found.members, app)
    told = [describe.optimized(member, started) for member in found.members]
    models = {m.name: done for m, done in zip(found.members, told, strict=True)}
    report = _report(app, found, models, started)
    _fits(app, found.alone, report)
    _fits_slow(members, report.slow)
    needs = together([firmware(done.model, interpreter=report.interpreter) for done in models.values()])
    for limits in (member.asked.limits for member in members):
        if limits.flash_missing(needs):
            raise too_little_flash(limits, needs, "use a board with more flash, or fewer or smaller models")
    maps = {name: done.memory for name, done in models.items()}
    return AppOptimized(app, models, report, memory_map.together(maps, app.name, report.arena))


@dataclass(frozen=True, slots=True)
class LaidOut:
    members: list[AppMember]
    shared: Shared
    pausing: tuple[Pausing, ...]
    curve: tuple[tuple[float, int], ...]
    """Pairs: milliseconds between two pauses, and bytes of the arena head."""
    slow: Mapping[str, int]
    """Maps a model to the offset in bytes of the model's part of the slow memory."""
    alone: Mapping[str, Arena] = field(default_factory=dict)
    busy: Sequence[int] = ()
    """Millionths of a core's time that each model uses, or () if the models have no rates."""

    @property
    def slow_bytes(self) -> int:
        return max((self.slow[m.name] + m.slow for m in self.members if m.slow), default=0)


def _laid_out(app: App, members: Sequence[AppMember], progress: Progress) -> LaidOut:
    members = [_placed(app, members, i) for i in range(len(members))]
    progress("placing all models", 0, 0)
    return replace(_shared(app, members), alone={member.name: member.arena for member in members})


def _slow_offsets(app: App, members: Sequence[AppMember]) -> dict[str, int]:
    """Return the offset in bytes of each model's slow memory. Models that never interrupt each other share bytes of
    slow memory.
    """
    sizes = tuple(member.slow for member in members)
    pushed = {(i, j) for i, one in enumerate(members) for j in range(len(members)) if one.is_pushed and i != j}
    apart = {pair: sizes[pair[0]] for i, j in pairs(app) | pushed for pair in ((i, j), (j, i))}
    placed = layout.place(layout.LayoutProblem(sizes, (TFLM_ALIGN,) * len(sizes), apart, 0), seconds=0)
    return {member.name: at for member, at in zip(members, placed.offsets, strict=True) if member.slow}


def _excess(app: App, found: LaidOut) -> int:
    limit = _limit(app, found.members)
    return 0 if limit is None else _together(found.members).total - limit


def _in_two_memories(app: App, members: Sequence[AppMember], excess: int, progress: Progress) -> LaidOut | None:
    """Move buffers of the largest model to slow memory until all models fit. Return None if the models do not fit."""
    members = list(members)
    for _ in range(SLOW_TRIES):
        able = [i for i, m in enumerate(members) if m.chosen and m.asked.limits.slow]
        largest = max(able, key=lambda i: members[i].arena.total, default=None)
        if largest is None:
            return None
        cuts = (_smaller(members[largest], nbytes, progress) for nbytes in (excess, -(-excess // len(able))))
        smaller = next((member for member in cuts if member), None)
        if smaller is None:
            return None
        members[largest] = smaller
        found = _laid_out(app, members, progress)
        excess = _excess(app, found)
        if excess <= 0:
            return found
    return None


def _chosen(app: App, members: Sequence[AppMember], progress: Progress) -> LaidOut:
    """Choose the plans with the least load within the RAM limit or, if no plans fit, the plans with the least RAM."""
    found = space(app, members, progress)
    progress("choosing points", 0, 0)
    limit = _limit(app, members)
    choice = found.choices.choose(ram=limit, least_ram=False) if limit is not None else None
    choice = choice or found.choices.choose()
    if choice is None:
        raise ValueError("the points that keep their rates are at the least load all at once")
    taken = [each[point] for each, point in zip(found.choices.models, choice.points, strict=True)]
    return replace(_laid_out(app, found.members_at(choice), progress), busy=[point.busy for point in taken])


def _limit(app: App, members: Sequence[AppMember]) -> int | None:
    return min((n for n in (app.ram, *(m.asked.limits.ram for m in members)) if n is not None), default=None)


def _smaller(member: AppMember, nbytes: int, progress: Progress) -> AppMember | None:
    limits = replace(member.asked.limits, total=member.arena.total - nbytes)
    task = replace(member.task, asked=replace(member.asked, limits=limits), start=member.conversion)
    try:
        made = replace(member, task=task).decided(progress)
    except DoesNotFit:
        return None
    return replace(made, task=member.task, limits=replace(made.limits, total=member.asked.limits.total))


def _together(members: Sequence[AppMember]) -> Arena:
    return predict_together(
        [m.model for m in members], members[0].asked.options.abi, libraries=[m.asked.options.library for m in members]
    )


def _placed(app: App, members: Sequence[AppMember], i: int) -> AppMember:
    member = members[i]
    if not any(member.name in pair for pair in app.concurrent_pairs) and not any(m.holds for m in members):
        return member
    if member.chosen is None and member.conversion.rows is not None:
        member = replace(member, chosen=member.conversion.once, why="", balance=None)
    model = read(member.chosen.model) if member.chosen else member.conversion.source
    wanted = head_plan(model, member.asked.options.abi, member.asked.options.library).wanted.requests
    if online := sum(need.nbytes for need in wanted if need.offline is None):
        raise UsageError(
            f"'{member.name}' leaves the place of {online:,} B to TFLM, whose planner ignores other models",
            code="memory_unknown",
            where=f"models.{member.name}",
            hint="omit concurrent, retain and streamed inputs; inspect lists the operators that stay builtin",
        )
    return member


def _shared(app: App, members: Sequence[AppMember]) -> LaidOut:
    layouts, best = _best(app, members)
    for one in layouts.pausing:
        others = [_low(m) if i == one.number else m for i, m in enumerate(layouts.members)]
        with contextlib.suppress(DoesNotFit):  # A plan with few live bytes may not pause often enough.
            other = _best(app, others)
            if other[1].shared.head < best.shared.head:
                layouts, best = other
    members, pausing = layouts.members, layouts.pausing
    found = list(members)
    for i, moved in zip(layouts.planned, best.shared.plans, strict=True):
        member, plan = members[i], replace(moved, pauses=best.pauses.get(i, ()))
        if member.chosen and plan != member.chosen.planned.plan:
            # The new addresses need other barriers between two cores.
            found[i] = replace(member, chosen=member.conversion.of(replace(plan, shardings=())))
    told = tuple(
        Pausing(
            members[one.number].name,
            tuple(members[j].name for j in one.shorter),
            best.pauses.get(one.number, ()),
            round(best.apart.get(one.number, 0.0), 3),
        )
        for one in pausing
    )
    curve = layouts.curve(app.yields, best.shared.head) if pausing and app.yields else ()
    return LaidOut(found, best.shared, told, curve, _slow_offsets(app, found))


def _low(member: AppMember) -> AppMember:
    """Return the model with a plan that always has few live bytes, and no more multiply-accumulates than the chosen
    plan.
    """
    if member.chosen is None:
        return member
    return replace(member, chosen=member.conversion.low().at(member.chosen.planned.plan.macs))


def _best(app: App, members: Sequence[AppMember]) -> tuple[Layouts, PausedLayout]:
    planned = [i for i, m in enumerate(members) if m.chosen]
    pausing = yielding(app, members)
    effort = max((m.asked.options.effort for m in members), default=1.0)
    seconds = max((m.asked.options.seconds for m in members), default=0.0)
    tenants = [replace(one, own=within(one)) for one in (_tenant(members[i]) for i in planned)]
    budget = Budget(allowance(sum(len(t.plan.buffers) for t in tenants), effort))
    layouts = Layouts(app, members, planned, tenants, pausing, seconds)
    best = layouts.best(app.yields, budget) if app.yields is not None and pausing else layouts.at(None, (), budget)
    return layouts, best


@dataclass(frozen=True, slots=True)
class PausedLayout:
    """A common layout of all models, and the iterations after which each model pauses."""

    shared: Shared
    pauses: Mapping[int, tuple[int, ...]]
    apart: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Layouts:
    """Finds common layouts of all models in one arena for a given time between pauses."""

    app: App
    members: Sequence[AppMember]
    planned: Sequence[int]
    tenants: Sequence[Tenant]
    pausing: Sequence[Yielding]
    seconds: float

    def at(self, apart: float | None, limits: Sequence[int], budget: Budget) -> PausedLayout:
        """The argument `apart` is the time between two pauses in milliseconds. The argument `limits` has the maximum
        number of live bytes at each model's pauses.
        """
        tenants, pauses, gaps = list(self.tenants), dict[int, tuple[int, ...]](), dict[int, float]()
        yields: set[Pair] = set()
        for one, limit in zip(self.pausing, limits, strict=False):
            found, place = one.moments, self.planned.index(one.number)
            chosen = found.chosen(apart or 0.0, limit)
            paused = live_at(self.tenants[place].planned, found, chosen)
            tenants[place] = replace(tenants[place], paused=paused)
            pauses[one.number] = tuple(found.after[chosen].tolist())
            gaps[one.number] = float(np.diff(found.time[chosen], prepend=0.0, append=found.total).max())
            yields |= {(place, self.planned.index(j)) for j in one.shorter}
        concurrent_pairs = _concurrent_pairs(self.app, self.planned, yields)
        shared = share(tenants, concurrent_pairs, yields, seconds=self.seconds, budget=budget)
        return PausedLayout(shared, pauses, gaps)

    def best(self, apart: float, budget: Budget) -> PausedLayout:
        """Return the layout with the smallest arena head. Raises DoesNotFit if a model cannot pause often enough."""
        each = [one.moments.limits(apart) for one in self.pausing]
        for one, limits in zip(self.pausing, each, strict=True):
            if not limits:
                raise too_long(self.app, one, self.members, apart)
        tried = [self.at(apart, limits, budget) for limits in zip_longest_last(each)]
        return min(tried, key=lambda found: found.shared.head)

    def curve(self, apart: float, head: int) -> tuple[tuple[float, int], ...]:
        """Return pairs: milliseconds between two pauses, and bytes of the arena head."""
        longest = max(one.moments.total for one in self.pausing)
        wanted, found = [apart / 4, apart / 2, apart], []
        while wanted[-1] < longest:
            wanted.append(2 * wanted[-1])
        for ms in wanted:
            limits = [one.moments.limits(ms) for one in self.pausing]
            if ms == apart:
                found.append((round(ms, 3), head))
            elif all(limits):
                found.append((round(ms, 3), self.at(ms, [least[0] for least in limits], Budget(HASTE)).shared.head))
        return tuple(found)


def _concurrent_pairs(app: App, planned: Sequence[int], yields: Iterable[Pair]) -> set[Pair]:
    """Return pairs of indices in `planned`, for models that may run at the same time without pauses."""
    each = {(planned.index(i), planned.index(j)) for i, j in pairs(app)}
    return each - {pair for i, j in yields for pair in ((i, j), (j, i))}


def zip_longest_last(each: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """Return the first items of all sequences, then the second items, and so on. A sequence that is too short repeats
    its last item.

    >>> zip_longest_last([[1, 2, 3], [7]])
    [(1, 7), (2, 7), (3, 7)]
    """
    longest = max(map(len, each), default=0)
    return [tuple(one[min(k, len(one) - 1)] for one in each) for k in range(longest)]


def _tenant(member: AppMember) -> Tenant:
    if member.chosen is None:
        raise TypeError(f"'{member.name}' has no plan")
    planned = member.chosen.planned
    return Tenant(planned, live_out(planned, member.retained), overlap=member.asked.options.overlap)


def check_app(members: Sequence[AppMember], app: App) -> None:
    """Raise PlanError if one model could overwrite another model's bytes, in whatever order the models run."""
    planned = [i for i, m in enumerate(members) if m.chosen]
    found = [(m.name, m.chosen.planned, m.retained) for m in members if m.chosen]
    slow = _slow_offsets(app, members)
    sharers = [Sharer(name, p.plan, p.graph, kept, slow.get(name, 0)) for name, p, kept in found]
    yields = {(planned.index(p.number), planned.index(j)) for p in yielding(app, members) for j in p.shorter}
    check_together(sharers, _concurrent_pairs(app, planned, yields), yields)


def _report(app: App, found: LaidOut, models: Mapping[str, Optimized], started: float) -> AppReport:
    members, shared = found.members, found.shared
    libraries = [m.asked.options.library for m in members]
    abi = members[0].asked.options.abi
    interpreter = any(done.report.interpreter for done in models.values())
    arena = _together(members) if interpreter else modules_arena([*in_one_arena(models).values()], abi)
    today = predict_together([m.conversion.source for m in members], abi, libraries=libraries)
    return AppReport(
        app=app.name,
        arena=arena,
        arena_size=enough(builds([done.model for done in models.values()], arena, libraries)) if interpreter else None,
        apart=sum(m.original.arena.total for m in members),
        shared=today.total,
        alone=sum(one.total for one in found.alone.values()),
        stacked=max(shared.stacked, *(m.original.arena.head for m in members if not m.chosen), 0),
        lower_bound_head=shared.lower_bound,
        proven=shared.proven and all(m.chosen for m in members),
        concurrent=tuple(tuple(group) for group in app.concurrent),
        reserved=tuple(_reserved(members)),
        pausing=found.pausing,
        curve=tuple((ms, head - shared.head + arena.total) for ms, head in found.curve),
        ram_limit=_limit(app, members),
        seconds=round(time.monotonic() - started, 3),
        interpreter=interpreter,
        times=bases(app, {name: done.work for name, done in models.items()}, members),
        slow=found.slow_bytes,
        slow_offsets=found.slow,
        cores=_cores(app, found.busy) if any(found.busy) else (),
    )


def _cores(app: App, busy: Sequence[int]) -> tuple[CoreLoad, ...]:
    cores = Cores(app.model_cores, app.on_one_core())
    placed = list(zip(app.models, cores.spread(busy), busy, strict=True))
    return tuple(
        CoreLoad(
            tuple(name for name, core, _ in placed if core == number),
            round(sum(time for _, core, time in placed if core == number) / ALL_THE_TIME, 4),
        )
        for number in range(cores.count)
    )


def _reserved(members: Sequence[AppMember]) -> list[Reserved]:
    found = []
    for member in members:
        if member.chosen is None:
            continue
        tenant, graph = _tenant(member), member.chosen.planned.graph.model
        for i, (bottom, top) in tenant.live_out.items():
            buffer, at = tenant.plan.buffers[i], tenant.plan.offsets[i]
            tensor = graph.tensors.get(buffer.key)
            name = UNNAMED.get(buffer.role) or (tensor.name if tensor else "")
            why = RETAINED if buffer.key in member.retained else STREAMED
            found.append(Reserved(member.name, name, at + bottom, at + top, why))
    return found


def _fits(app: App, alone: Mapping[str, Arena], report: AppReport) -> None:
    limit = report.ram_limit
    if limit is None or report.arena.total <= limit:
        return
    heads = {name: arena.head for name, arena in alone.items()}
    group = max(app.groups(), key=lambda names: sum(heads[name] for name in names))
    at = " and ".join(f"'{name}' {heads[name]:,} B" for name in group)
    which, hint = (
        "the largest head",
        f'set ram = {report.arena.total}, or max_macs above 1 or input = "stream" for the largest model',
    )
    in_turn = report.arena.total - report.arena.head + max(heads.values())
    if len(group) > 1 and in_turn < report.arena.total:
        seldom = next((f'yield = "{ms:g}ms" takes {n:,} B; ' for ms, n in report.curve if n <= limit), "")
        # Bytes that a model keeps between inferences stay occupied even if the models run in turn.
        reserved = {r.model for r in report.reserved}.intersection(group)
        apart = "" if reserved else f"in turn they take {in_turn:,} B; "
        which, hint = "heads at the same time", f"{seldom}{apart}at the same time they fit in {report.arena.total:,} B"
    raise DoesNotFit(
        f"the models need {report.arena.total:,} B together, the limit is {limit:,} B",
        where=f"{which}: {at}; the interpreters: {report.arena.tail:,} B",
        hint=hint,
    )


def _fits_slow(members: Sequence[AppMember], slow: int) -> None:
    limit = min((m.asked.limits.slow.nbytes for m in members if m.asked.limits.slow), default=0)
    if slow > limit:
        raise DoesNotFit(
            f"the models need {slow:,} B of slow memory together, limit is {limit:,} B",
            where="models that run at the same time or wait for rows share no slow memory",
            hint=f'set memory = "fast=SIZE,slow={slow}", or run all models in turn',
        )
