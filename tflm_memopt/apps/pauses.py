"""Finds the models of an application that pause for shorter models, and the moments at which they can pause."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tflm_memopt.apps.app import App, AppModel
from tflm_memopt.apps.members import AppMember, pairs
from tflm_memopt.apps.rates import timer
from tflm_memopt.convert import speed
from tflm_memopt.errors import DoesNotFit, UsageError
from tflm_memopt.plan.choices import PER_REGION
from tflm_memopt.plan.iteration.pauses import Moments, moments
from tflm_memopt.plan.iteration.work import work
from tflm_memopt.plan.plan import Group
from tflm_memopt.rowgraph.inputs import STREAM


@dataclass(frozen=True, slots=True)
class Yielding:
    number: int
    shorter: tuple[int, ...]
    moments: Moments
    """Moments at which the model can pause, with times in milliseconds."""


def yielding(app: App, members: Sequence[AppMember]) -> list[Yielding]:
    """Return the models that pause so that shorter models can run. Raises UsageError if a model cannot pause."""
    if app.yields is None:
        return []
    involved = {i for pair in pairs(app) for i in pair}
    times = {i: _moments(members[i], app.models[members[i].name]) for i in involved}
    each: dict[int, list[int]] = {}
    for pair in pairs(app):
        shorter, longer = sorted(pair, key=lambda i: (times[i].total, i))
        each.setdefault(longer, []).append(shorter)
    for i in each:
        _may_pause(members[i])
    return [Yielding(i, tuple(sorted(shorter)), times[i]) for i, shorter in sorted(each.items())]


def _moments(member: AppMember, entry: AppModel) -> Moments:
    if member.chosen is None:
        raise _cannot_pause(member)
    planned = member.chosen.planned
    timed = timer(member, entry, tuple(work(planned)))
    return moments(planned, speed.of_stages(planned, lambda one: timed.milliseconds([one])))


def _may_pause(member: AppMember) -> None:
    plan = member.chosen.planned.plan if member.chosen else None
    one = (
        member.asked.options.ops == PER_REGION
        and plan is not None
        and len(plan.calls()) == 1
        and all(isinstance(step, Group) for step in plan.steps)
    )
    if plan is None or not one or plan.states or member.asked.options.input.where == STREAM:
        raise _cannot_pause(member)


def _cannot_pause(member: AppMember) -> UsageError:
    return UsageError(
        f"'{member.name}' cannot pause for other models",
        code="cannot_share",
        where=f"models.{member.name}",
        hint="omit yield, or use a model that becomes a single operator without state and streamed input",
    )


def too_long(app: App, one: Yielding, members: Sequence[AppMember], apart: float) -> DoesNotFit:
    longest = np.ceil(one.moments.longest * 1000) / 1000
    return DoesNotFit(
        f"'{members[one.number].name}' cannot pause every {apart:g} ms: an iteration takes {longest:g} ms",
        code="too_slow",
        where=f"yield of {app.name}",
        hint=f'set yield = "{longest:g}ms", or use a faster board or target',
    )
