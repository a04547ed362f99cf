"""Test tiled groups: the search's estimates, the trace's counts and the C library agree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from conftest import seeds
from planning import lowered
from unit.plan.tiled import OPTIONS, chains, planned, settings_of, trace_of

from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.liveness import live_ranges, most_alive
from tflm_memopt.plan.plan import Group
from tflm_memopt.plan.search.groups import Candidate, Chain, border, executed_macs, rebuild
from tflm_memopt.plan.search.tiles import tiled_candidates
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.runtime import host, regions

UNLIMITED = 1 << 40


def test_the_executor_runs_iterations_in_the_order_of_the_trace() -> None:
    for seed in seeds(8):
        model, found = planned(seed)
        new = read(lowered(model, found, OPTIONS))
        groups = [step for step in found.plan.steps if isinstance(step, Group)]
        regions_ = regions.regions(new)
        numbers = list(dict.fromkeys(group.region for group in groups))
        assert len(regions_) == len(numbers)
        for region, number in zip(regions_, numbers, strict=True):
            expected, base = [], 0
            for group in (b for b in groups if b.region == number):
                trace = trace_of(group, found.graph.ops)
                at = {stage.op: base + i for i, stage in enumerate(group.stages)}
                iterated = {m.key: m.units for m in trace.members}
                for moment in trace.moments.tolist():
                    key, iteration = int(trace.op[moment]), int(trace.iteration[moment])
                    u = iterated[key]
                    tile = int(u.x0[iteration]) // u.nest.tile if u.nest.tile else 0
                    unit = (int(u.stripe[iteration]), int(u.channel_group[iteration]), tile, int(u.row[iteration]))
                    expected.append(host.ExecutedUnit(at[key], *unit))
                base += len(group.stages)
            inputs = [np.zeros(new.graph.tensors[t].nbytes, np.int8) for t in region.inputs]
            sizes = [new.graph.tensors[t].nbytes for t in region.outputs]
            assert host.iteration_order(region.program, inputs, sizes) == expected


def figures(chain: Chain, settings: Settings, every: int) -> Iterator[tuple[Candidate, int, int]]:
    """Yield tiled groups of a chain with their real bytes and multiply-accumulates."""
    for found in tiled_candidates(chain, settings, UNLIMITED).values():
        for group in found[::every]:
            trace, rolling_buffers = rebuild(chain, group)
            at_border = border(chain, group.first, group.last)
            through = sum(chain.sizes[t] for t in at_border.through)
            ranges = live_ranges(trace, rolling_buffers, at_border, chain.sizes)
            yield group, most_alive(ranges) + through, executed_macs(trace)


def test_no_group_computes_more_than_the_search_allowed_for() -> None:
    """Pixels at the edges that nothing reads are not computed, so the number may be lower."""
    for seed in seeds(8):
        for chain in chains(seed):
            for group, _, macs in figures(chain, settings_of(seed), every=1):
                assert macs <= group.macs
