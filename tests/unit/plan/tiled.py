"""Random tiled groups of random networks, for tests of the planner."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from planning import plan_of
from property.forced import forced, mobile, random_settings
from property.networks import build

from tflm_memopt.convert import pipeline
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model.reader import Model, read
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.reversal import as_counted
from tflm_memopt.plan.iteration.trace import Member, Trace, prepend, start
from tflm_memopt.plan.plan import Group
from tflm_memopt.plan.search.groups import Chain
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.rowgraph.graph import Region
from tflm_memopt.rowgraph.regions import partition

OPTIONS = ConversionOptions(seconds=0.05)


@cache
def planned(seed: int) -> tuple[Model, Planned]:
    """Plan a random network in random groups, most of them tiled. The plan is checked."""
    model = read(build(mobile(seed, most=4)))
    with forced(random_settings(random.Random(seed)), seed):
        return model, plan_of(model.graph, OPTIONS)


def chains(seed: int) -> Iterator[Chain]:
    """The regions of a random network."""
    return chains_of(build(mobile(seed, most=4)))


def chains_of(model: bytes) -> Iterator[Chain]:
    """The regions of a network."""
    annotated = pipeline.annotate(read(model).graph)
    parts = partition(annotated.graph, annotated.support)
    for region in parts.nodes:
        if isinstance(region, Region):
            yield Chain(region.ops, tuple(parts.ops[i] for i in region.ops), frozenset(region.outputs), 0)


def settings_of(seed: int, **switches: object) -> Settings:
    return replace(random_settings(random.Random(seed)), **switches)  # type: ignore[arg-type]


def tiled_groups(found: Planned) -> Iterator[Group]:
    return (step for step in found.plan.steps if isinstance(step, Group) and step.stripes)


def trace_of(group: Group, ops: Mapping[int, RowOp]) -> Trace:
    """Return all iterations of a group, in the planner's order."""
    members = [Member(stage, as_counted(ops[stage.op], group), group.stripes) for stage in group.stages]
    by_key = {m.key: m for m in members}
    trace = start([(by_key[key].op.output, by_key[key].iterations) for key in group.sinks])
    for member in reversed(members):
        trace = prepend(trace, member)
    return trace
