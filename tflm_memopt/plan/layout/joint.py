"""One layout problem for the buffers of several models, with explicit conflicts between the models. It follows chapter
6 of Minakova's thesis on CNNs that share memory, applied to rows. Two models that exclude each other may share all
bytes, and two that run at the same time share none. No other model may touch the bytes that a model occupies while it
is not running: retained outputs, a suspended streamed inference, and live data at a pause. Within a model, buffers keep
the distances that its plan requires (plan/iteration/liveness.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from tflm_memopt.plan.effort import Budget
from tflm_memopt.plan.iteration.liveness import constraints
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.reversal import mirrored
from tflm_memopt.plan.layout import offsets as layout
from tflm_memopt.plan.layout.offsets import Layout, LayoutProblem
from tflm_memopt.plan.plan import Plan, Role

Range = tuple[int, int]
"""Bytes [bottom, top) of a buffer."""
Distances = dict[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class Tenant:
    """A model's plan in a shared arena."""

    planned: Planned
    live_out: Mapping[int, Range] = field(default_factory=dict)
    """Bytes that no other model may touch, by buffer number."""
    paused: Mapping[int, Range] = field(default_factory=dict)
    """Bytes that models which run during this model's pauses may not touch, by buffer number."""
    overlap: bool = True
    """Whether whole tensors of one group may share bytes."""
    own: Mapping[tuple[int, int], int] | None = None
    """Distances between the model's buffers, if known."""

    @property
    def plan(self) -> Plan:
        return self.planned.plan


@dataclass(frozen=True, slots=True)
class Shared:
    """Addresses of the buffers of all models."""

    plans: tuple[Plan, ...]
    head: int
    lower_bound: int
    proven: bool
    stacked: int
    """Head if the whole heads of concurrent models were placed side by side, with reserved bytes above all others."""


def share(
    tenants: Sequence[Tenant],
    concurrent_pairs: Collection[tuple[int, int]],
    yields: Collection[tuple[int, int]] = (),
    *,
    seconds: float,
    budget: Budget,
) -> Shared:
    """Return the lowest layout. concurrent_pairs: pairs that run at the same time. yields: pairs whose first model
    pauses while the second runs.
    """
    problem, first = problem_of(tenants, concurrent_pairs, yields)
    concurrent_pairs = {*concurrent_pairs, *yields}
    start = _stacked(tenants, concurrent_pairs)
    heads = max((t.plan.head for t in tenants), default=0)
    if not any(_meet(tenants, concurrent_pairs, i, j) for i in range(len(tenants)) for j in range(i)):
        proven = all(t.plan.proven for t in tenants if t.plan.head == heads)
        return Shared(tuple(t.plan for t in tenants), heads, problem.lower_bound, proven, heads)
    found = layout.place(problem, seconds=seconds, budget=budget)
    top = max(base + t.plan.head for base, t in zip(start, tenants, strict=True))
    if top < found.top:
        offsets = tuple(base + o for base, t in zip(start, tenants, strict=True) for o in t.plan.offsets)
        found, _ = layout.exact(problem, Layout(offsets, top, proven=False), seconds=seconds)
    plans = tuple(
        _moved(t.plan, found.offsets[at : at + len(t.plan.buffers)]) for t, at in zip(tenants, first, strict=True)
    )
    return Shared(
        plans, found.top, problem.lower_bound, found.proven, max(top, _reserved_above(tenants, concurrent_pairs))
    )


def settled(tenant: Tenant) -> Tenant:
    """Return the tenant with its distances computed, for use in several layouts."""
    return replace(tenant, own=within(tenant))


def problem_of(
    tenants: Sequence[Tenant], concurrent_pairs: Collection[tuple[int, int]], yields: Collection[tuple[int, int]] = ()
) -> tuple[LayoutProblem, list[int]]:
    """Return the problem, and the number of each tenant's first buffer in it."""
    nbytes: list[int] = []
    align: list[int] = []
    first: list[int] = []
    distances: Distances = {}
    for tenant in tenants:
        at = len(nbytes)
        first.append(at)
        nbytes += [b.nbytes for b in tenant.plan.buffers]
        align += [b.align for b in tenant.plan.buffers]
        distances |= {
            (at + u, at + v): d for (u, v), d in (within(tenant) if tenant.own is None else tenant.own).items()
        }
    for i, j in permutations(range(len(tenants)), 2):
        if {(i, j), (j, i)} & set(concurrent_pairs):
            conflicts = [_apart(tenants[i], tenants[j])]
        else:
            live = [tenants[i].live_out, *([tenants[i].paused] if (i, j) in yields else [])]
            conflicts = [_keep(one, tenants[j]) for one in live]
        for between in conflicts:
            for (u, v), d in between.items():
                pairs = ((first[i] + u, first[j] + v), d[0]), ((first[j] + v, first[i] + u), d[1])
                for pair, distance in pairs:
                    distances[pair] = max(distance, distances.get(pair, distance))
    bound = max((t.plan.lower_bound for t in tenants), default=0)
    return LayoutProblem(tuple(nbytes), tuple(align), distances, bound), first


def _apart(one: Tenant, other: Tenant) -> dict[tuple[int, int], tuple[int, int]]:
    """Return distances that keep all buffers of two tenants apart, once with the first tenant below and once with the
    second.
    """
    pairs = ((u, v) for u in range(len(one.plan.buffers)) for v in range(len(other.plan.buffers)))
    return {(u, v): (one.plan.buffers[u].nbytes, other.plan.buffers[v].nbytes) for u, v in pairs}


def _keep(live: Mapping[int, Range], other: Tenant) -> dict[tuple[int, int], tuple[int, int]]:
    """Return distances that keep another tenant's buffers away from the bytes that the first tenant occupies."""
    return {
        (u, v): (top, buffer.nbytes - bottom)
        for u, (bottom, top) in live.items()
        for v, buffer in enumerate(other.plan.buffers)
    }


def _meet(tenants: Sequence[Tenant], concurrent_pairs: Collection[tuple[int, int]], i: int, j: int) -> bool:
    return bool({(i, j), (j, i)} & set(concurrent_pairs)) or bool(tenants[i].live_out or tenants[j].live_out)


def within(tenant: Tenant) -> Distances:
    """Return the distances between buffers of one plan that its iterations require."""
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
        inputs = [i for i in inside if _is_input(tenant, i)]
        for u, v in permutations(inputs, 2):
            keep(u, v, plan.buffers[u].nbytes)
    return distances


def _is_input(tenant: Tenant, i: int) -> bool:
    """Return whether a buffer is an input, which exists before anything runs."""
    buffer, graph = tenant.plan.buffers[i], tenant.planned.graph.model
    return buffer.role is Role.TENSOR and buffer.key in graph.inputs


def _as_planned(plan: Plan, u: int, v: int) -> int:
    """Return how far above u the plan starts v if both share bytes. The plan was checked, so this distance is valid."""
    below, above = plan.buffers[u], plan.buffers[v]
    distance = plan.offsets[v] - plan.offsets[u]
    shared = -above.nbytes < distance < below.nbytes
    return distance if shared and (distance > 0 or (distance == 0 and u < v)) else below.nbytes


def _stacked(tenants: Sequence[Tenant], concurrent_pairs: Collection[tuple[int, int]]) -> list[int]:
    """Return the start of each head if the heads of conflicting models are placed side by side, largest first."""
    start, align = [0] * len(tenants), max((b.align for t in tenants for b in t.plan.buffers), default=1)
    placed: list[int] = []
    for i in sorted(range(len(tenants)), key=lambda i: -tenants[i].plan.head):
        taken = sorted(
            (start[j], start[j] + tenants[j].plan.head) for j in placed if _meet(tenants, concurrent_pairs, i, j)
        )
        for low, high in taken:
            if start[i] + tenants[i].plan.head <= low:
                break
            start[i] = max(start[i], high + -high % align)
        placed.append(i)
    return start


def _reserved_above(tenants: Sequence[Tenant], concurrent_pairs: Collection[tuple[int, int]]) -> int:
    """Return the height of the largest conflicting heads with the reserved bytes above them."""
    free = [replace(t, live_out={}) for t in tenants]
    start = _stacked(free, concurrent_pairs)
    heads = max((base + t.plan.head for base, t in zip(start, free, strict=True)), default=0)
    return heads + sum(top - bottom for t in tenants for bottom, top in t.live_out.values())


def _moved(plan: Plan, offsets: tuple[int, ...]) -> Plan:
    """Return the plan with other offsets. It is not marked as optimal, since its offsets depend on the other models."""
    head = max((o + b.nbytes for o, b in zip(offsets, plan.buffers, strict=True)), default=0)
    return replace(plan, offsets=offsets, head=head, proven=head <= plan.lower_bound)
