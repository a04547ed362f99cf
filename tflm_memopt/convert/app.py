"""An application on its way: each model converted by itself, then all of them laid out in one arena, and checked."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tflm_memopt.application.app import App
from tflm_memopt.application.results import AppOptimized, AppReport, Reserved
from tflm_memopt.check.interleaving import Sharer, check_together
from tflm_memopt.convert import describe
from tflm_memopt.convert.app_explore import space
from tflm_memopt.convert.app_member import AppMember, members_of, pairs
from tflm_memopt.convert.policy import decide
from tflm_memopt.emit.app import arena_bytes
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.plan import memory_map
from tflm_memopt.plan.effort import Meter, allowance
from tflm_memopt.plan.firing.held import held
from tflm_memopt.plan.layout.joint import Shared, Tenant, share
from tflm_memopt.plan.waiting import Progress
from tflm_memopt.results import Optimized
from tflm_memopt.tflm.arena import Arena, head_plan, predict_together

STREAMED, RETAINED = "kept while rows of its input are pushed", "retained"


def optimize_app(app: App, progress: Progress) -> AppOptimized:
    """Rewrites all models of an application so that they share an arena.

    Raises as optimize() does for each, UsageError for models that cannot share it so, and DoesNotFit when they need
    more than the application has.
    """
    started = time.monotonic()
    members = members_of(app, progress)
    if len({member.asked.abi for member in members}) > 1:
        raise UsageError(
            "models of one arena are for one ABI", code="app_abi", where="abi", hint="abi for the whole application"
        )
    if any(entry.most is not None for entry in app.models.values()):
        found = _chosen(app, members, progress)
    else:
        found = _laid_out(app, [_decided(member, progress) for member in members], progress)
        if (limit := _limit(app, members)) is not None and _together(found.members).total > limit:
            found = _chosen(app, members, progress)
    check_app(found.members, pairs(app))
    told = [describe.optimized(m.data, m.asked, m.made, m.original, started) for m in found.members]
    models = {m.name: done for m, done in zip(found.members, told, strict=True)}
    report = _report(app, found, models, started)
    _fits(app, found.alone, report)
    maps = {name: done.memory for name, done in models.items()}
    return AppOptimized(app, models, report, memory_map.together(maps, app.name, report.arena))


@dataclass(frozen=True, slots=True)
class LaidOut:
    """The models at their places."""

    members: list[AppMember]
    shared: Shared
    alone: Mapping[str, Arena]
    """As each would be in an arena of its own."""


def _laid_out(app: App, members: Sequence[AppMember], progress: Progress) -> LaidOut:
    """Raises UsageError for a model that cannot lie beside others."""
    members = [_placed(app, members, i) for i in range(len(members))]
    progress("placing all models", 0, 0)
    shared, placed = _shared(members, pairs(app))
    return LaidOut(placed, shared, {member.name: member.arena for member in members})


def _chosen(app: App, members: Sequence[AppMember], progress: Progress) -> LaidOut:
    """A point of each frontier: the least load within the RAM, else the least RAM, within all rates."""
    found = space(app, members, progress)
    progress("choosing points", 0, 0)
    limit = _limit(app, members)
    choice = found.choices.choose(ram=limit, least_ram=False) if limit is not None else None
    choice = choice or found.choices.choose()
    if choice is None:
        raise ValueError("the points that keep their rates are at the least load all at once")
    return _laid_out(app, found.members_at(choice), progress)


def _limit(app: App, members: Sequence[AppMember]) -> int | None:
    """Bytes for the arena of all."""
    return min((n for n in (app.ram, *(m.asked.limits.ram for m in members)) if n is not None), default=None)


def _together(members: Sequence[AppMember]) -> Arena:
    """What all interpreters take."""
    data = [m.chosen.model if m.chosen else m.data for m in members]
    return predict_together(data, members[0].asked.abi, libraries=[m.asked.library for m in members])


def _decided(member: AppMember, progress: Progress) -> AppMember:
    """The same with the plan that it would get alone."""

    def planning(done: int, of: int) -> None:
        progress(f"{member.name}: planning points", done, of)

    progress(f"{member.name}: searching blocks", 0, 0)
    return replace(member, made=decide(member.asked, member.conversion, member.original, planning))


def _placed(app: App, members: Sequence[AppMember], i: int) -> AppMember:
    """The same with a plan that says where all its bytes are, where others have to stay clear of some.

    Raises UsageError where TFLM would place some of them.
    """
    member = members[i]
    if not any(member.name in pair for pair in app.beside) and not any(m.holds for m in members):
        return member
    if member.chosen is None and member.conversion.partition is not None:
        made = replace(member.made, chosen=member.conversion.once, why="", balance=None)
        member = replace(member, made=made)
    model = read(member.chosen.model) if member.chosen else member.conversion.source
    wanted = head_plan(model, member.asked.abi, member.asked.library).wanted.requests
    if online := sum(need.nbytes for need in wanted if need.offline is None):
        raise UsageError(
            f"'{member.name}' leaves the place of {online:,} B to TFLM, which knows nothing of other models",
            code="app_online",
            where=f"models.{member.name}",
            hint="models in turn, without concurrent, retain and streamed inputs; inspect says what stays builtin",
        )
    return member


def _shared(members: Sequence[AppMember], beside: frozenset[tuple[int, int]]) -> tuple[Shared, list[AppMember]]:
    """One layout for all that have plans, and the models lowered anew."""
    planned = [i for i, m in enumerate(members) if m.chosen]
    tenants = [_tenant(members[i]) for i in planned]
    pairs = {(planned.index(i), planned.index(j)) for i, j in beside}
    effort = max((m.asked.options.effort for m in members), default=1.0)
    seconds = max((m.asked.options.seconds for m in members), default=0.0)
    buffers = sum(len(t.plan.buffers) for t in tenants)
    shared = share(tenants, pairs, seconds=seconds, meter=Meter(allowance(buffers, effort)))
    found = list(members)
    for i, plan in zip(planned, shared.plans, strict=True):
        made = members[i].made
        if made.chosen and plan != made.chosen.planned.plan:
            chosen = members[i].conversion.of(plan)
            found[i] = replace(members[i], made=replace(made, chosen=chosen))
    return shared, found


def _tenant(member: AppMember) -> Tenant:
    if member.chosen is None:
        raise TypeError(f"'{member.name}' has no plan")
    planned = member.chosen.planned
    return Tenant(planned, held(planned, member.retained), member.asked.options.overlap)


def check_app(members: Sequence[AppMember], beside: frozenset[tuple[int, int]]) -> None:
    """Raises PlanError where one model could lose a byte to another, in whatever order they run."""
    planned = [i for i, m in enumerate(members) if m.chosen]
    found = [(m.name, m.chosen.planned, m.retained) for m in members if m.chosen]
    sharers = [Sharer(name, p.plan, p.understood.graph, p.partition, kept) for name, p, kept in found]
    check_together(sharers, {(planned.index(i), planned.index(j)) for i, j in beside})


def _report(app: App, found: LaidOut, models: Mapping[str, Optimized], started: float) -> AppReport:
    members, shared = found.members, found.shared
    libraries = [m.asked.library for m in members]
    abi = members[0].asked.abi
    arena = _together(members)
    today = predict_together([m.conversion.source for m in members], abi, libraries=libraries)
    return AppReport(
        app=app.name,
        arena=arena,
        arena_size=arena_bytes(abi, [models[m.name] for m in members], libraries, arena),
        apart=sum(m.original.arena.total for m in members),
        shared=today.total,
        alone=sum(one.total for one in found.alone.values()),
        stacked=max(shared.stacked, *(m.original.arena.head for m in members if not m.chosen), 0),
        lower_bound_head=shared.lower_bound,
        proven=shared.proven and all(m.chosen for m in members),
        concurrent=tuple(tuple(group) for group in app.concurrent),
        reserved=tuple(_reserved(members)),
        ram_limit=_limit(app, members),
        seconds=round(time.monotonic() - started, 3),
    )


def _reserved(members: Sequence[AppMember]) -> list[Reserved]:
    """Where bytes lie that a model holds while it does not run."""
    found = []
    for member in members:
        if member.chosen is None:
            continue
        tenant, graph = _tenant(member), member.chosen.planned.understood.graph
        for i, (bottom, top) in tenant.held.items():
            buffer, at = tenant.plan.buffers[i], tenant.plan.offsets[i]
            tensor = graph.tensors.get(buffer.key)
            name = memory_map.UNNAMED.get(buffer.role) or (tensor.name if tensor else "")
            why = RETAINED if buffer.key in member.retained else STREAMED
            found.append(Reserved(member.name, name, at + bottom, at + top, why))
    return found


def _fits(app: App, alone: Mapping[str, Arena], report: AppReport) -> None:
    """Raises DoesNotFit when all together need more than there is."""
    limit = report.ram_limit
    if limit is None or report.arena.total <= limit:
        return
    heads = {name: arena.head for name, arena in alone.items()}
    group = max(app.groups(), key=lambda names: sum(heads[name] for name in names))
    at = " and ".join(f"'{name}' {heads[name]:,} B" for name in group)
    what = f"the models need {report.arena.total:,} B together, the limit is {limit:,} B"
    in_turn = report.arena.total - report.arena.head + max(heads.values())
    if len(group) > 1 and in_turn < report.arena.total:
        raise DoesNotFit(
            what,
            code="app_pair",
            where=f"heads at the same time: {at}; the interpreters: {report.arena.tail:,} B",
            hint=f"in turn they take {in_turn:,} B; side by side they fit in {report.arena.total:,} B",
        )
    raise DoesNotFit(
        what,
        code="app_ram",
        where=f"the largest head: {at}; the interpreters: {report.arena.tail:,} B",
        hint=f"ram = {report.arena.total}, or max_macs above 1 for the largest model, or its input streamed",
    )
