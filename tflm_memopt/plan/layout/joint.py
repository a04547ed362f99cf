"""Places the buffers of several models in one arena.

The method of chapter 6 of Minakova's thesis is applied to rows. Models that never run together may share all bytes, and
models that run at the same time share none. No model overwrites outputs that another model retains, or bytes that
another model needs after a pause.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise, permutations

from tflm_memopt.plan.effort import Budget
from tflm_memopt.plan.iteration.liveness import constraints
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.reversal import mirrored
from tflm_memopt.plan.layout import offsets as layout
from tflm_memopt.plan.layout.offsets import Layout, LayoutProblem
from tflm_memopt.plan.plan import Plan, Role

Range = tuple[int, int]
Distances = dict[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class Tenant:
    """A model that shares the arena with other models."""

    planned: Planned
    live_out: Mapping[int, Range] = field(default_factory=dict)
    """Maps the index of a buffer to the buffer's bytes [bottom, top) that no other model may ever overwrite."""
    paused: Mapping[int, Range] = field(default_factory=dict)
    """Maps the index of a buffer to the buffer's bytes [bottom, top) that stay valid while the model pauses."""
    overlap: bool = True
    """Whether the input and output of an operator group may share bytes."""
    own: Mapping[tuple[int, int], int] | None = None
    """Minimum distances in bytes between the model's buffers, or None if the distances are unknown."""

    @property
    def plan(self) -> Plan:
        return self.planned.plan


@dataclass(frozen=True, slots=True)
class Shared:
    """The plans of all models, with addresses in the shared arena."""

    plans: tuple[Plan, ...]
    head: int
    lower_bound: int
    proven: bool
    stacked: int
    """Size of the arena head in bytes if models that run at the same time share no bytes."""


def share(
    tenants: Sequence[Tenant],
    concurrent_pairs: Collection[tuple[int, int]],
    yields: Collection[tuple[int, int]] = (),
    *,
    seconds: float,
    budget: Budget,
) -> Shared:
    """Return the layout with the smallest arena.

    The argument `concurrent_pairs` has the pairs of models that run at the same time. Each pair (a, b) in the argument
    `yields` means that model b may run while model a pauses.
    """
    problem, first = problem_of(tenants, concurrent_pairs, yields)
    concurrent_pairs = {*concurrent_pairs, *yields}
    start = _stacked(tenants, concurrent_pairs)
    heads = max((t.plan.head for t in tenants), default=0)
    if not any(_apart(tenants, concurrent_pairs, i, j) for i in range(len(tenants)) for j in range(i)):
        proven = all(t.plan.proven for t in tenants if t.plan.head == heads)
        return Shared(tuple(t.plan for t in tenants), heads, problem.lower_bound, proven, heads)
    found = layout.place(problem, seconds=seconds, budget=budget)
    top = max(base + t.plan.head for base, t in zip(start, tenants, strict=True))
    if top < found.top:
        offsets = tuple(base + o for base, t in zip(start, tenants, strict=True) for o in t.plan.offsets)
        found, _ = layout.exact(problem, Layout(offsets, top, proven=False), seconds=seconds)
    plans = tuple(_moved(t.plan, found.offsets[a:b]) for t, (a, b) in zip(tenants, pairwise(first), strict=True))
    stacked = max(top, _reserved_above(tenants, concurrent_pairs))
    return Shared(plans, found.top, problem.lower_bound, found.proven, stacked)


def problem_of(
    tenants: Sequence[Tenant], concurrent_pairs: Collection[tuple[int, int]], yields: Collection[tuple[int, int]] = ()
) -> tuple[LayoutProblem, list[int]]:
    buffers = [b for tenant in tenants for b in tenant.plan.buffers]
    first = [*accumulate((len(tenant.plan.buffers) for tenant in tenants), initial=0)]
    distances: Distances = {}
    for at, tenant in zip(first, tenants, strict=False):
        own = within(tenant) if tenant.own is None else tenant.own
        distances |= {(at + u, at + v): d for (u, v), d in own.items()}
    for i, j in permutations(range(len(tenants)), 2):
        one, other = tenants[i], tenants[j]
        lives = [one.live_out, *([one.paused] if (i, j) in yields else [])]
        if {(i, j), (j, i)} & set(concurrent_pairs):
            lives = [{u: (0, b.nbytes) for u, b in enumerate(one.plan.buffers)}]
        for u, (bottom, top) in (item for live in lives for item in live.items()):
            # Other models must not overwrite the bytes that stay live.
            for v, buffer in enumerate(other.plan.buffers):
                a, b = first[i] + u, first[j] + v
                for pair, distance in (((a, b), top), ((b, a), buffer.nbytes - bottom)):
                    distances[pair] = max(distance, distances.get(pair, distance))
    bound = max((t.plan.lower_bound for t in tenants), default=0)
    nbytes, align = tuple(b.nbytes for b in buffers), tuple(b.align for b in buffers)
    return LayoutProblem(nbytes, align, distances, bound), first


def _apart(tenants: Sequence[Tenant], concurrent_pairs: Collection[tuple[int, int]], i: int, j: int) -> bool:
    return bool({(i, j), (j, i)} & set(concurrent_pairs)) or bool(tenants[i].live_out or tenants[j].live_out)


def within(tenant: Tenant) -> Distances:
    plan = tenant.plan
    distances: Distances = {}

    def keep(u: int, v: int, distance: int) -> None:
        distances[u, v] = max(distance, distances.get((u, v), distance))

    for n, alive in enumerate(plan.alive):
        group = tenant.planned.groups.get(n) if tenant.overlap else None
        inside: list[int] = []
        if group:
            inside, found = [*group.placed], tuple(group.placed.values())
            apart = constraints(found)
            if group.step.is_reversed:
                apart = mirrored([r.buffer for r in found], apart)
            for (u, v), distance in apart.items():
                keep(inside[u], inside[v], distance)
        for u, v in permutations(alive, 2):
            if u not in inside or v not in inside:
                keep(u, v, plan.buffers[u].nbytes if inside else _as_planned(plan, u, v))
        given = tenant.planned.graph.model.inputs  # All inputs of a model exist before the run.
        inputs = [i for i in inside if plan.buffers[i].role is Role.TENSOR and plan.buffers[i].key in given]
        for u, v in permutations(inputs, 2):
            keep(u, v, plan.buffers[u].nbytes)
    return distances


def _as_planned(plan: Plan, u: int, v: int) -> int:
    below, above = plan.buffers[u], plan.buffers[v]
    distance = plan.offsets[v] - plan.offsets[u]
    shared = -above.nbytes < distance < below.nbytes
    return distance if shared and (distance > 0 or (distance == 0 and u < v)) else below.nbytes


def _stacked(tenants: Sequence[Tenant], concurrent_pairs: Collection[tuple[int, int]]) -> list[int]:
    start, align = [0] * len(tenants), max((b.align for t in tenants for b in t.plan.buffers), default=1)
    placed: list[int] = []
    for i in sorted(range(len(tenants)), key=lambda i: -tenants[i].plan.head):
        taken = sorted(
            (start[j], start[j] + tenants[j].plan.head) for j in placed if _apart(tenants, concurrent_pairs, i, j)
        )
        for low, high in taken:
            if start[i] + tenants[i].plan.head <= low:
                break
            start[i] = max(start[i], high + -high % align)
        placed.append(i)
    return start


def _reserved_above(tenants: Sequence[Tenant], concurrent_pairs: Collection[tuple[int, int]]) -> int:
    free = [replace(t, live_out={}) for t in tenants]
    start = _stacked(free, concurrent_pairs)
    heads = max((base + t.plan.head for base, t in zip(start, free, strict=True)), default=0)
    return heads + sum(top - bottom for t in tenants for bottom, top in t.live_out.values())


def _moved(plan: Plan, offsets: tuple[int, ...]) -> Plan:
    head = max((o + b.nbytes for o, b in zip(offsets, plan.buffers, strict=True)), default=0)
    return replace(plan, offsets=offsets, head=head, proven=head <= plan.lower_bound)
