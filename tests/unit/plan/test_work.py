"""The computed work of a plan equals a count over all iterations."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from conftest import seeds
from unit.plan.tiled import planned

from tflm_memopt.analysis.costs import AMOUNTS, Work
from tflm_memopt.plan.iteration.trace import Member, executed, traced
from tflm_memopt.plan.iteration.work import least_work_of, work, work_of


def test_iterations_one_by_one() -> None:
    for seed in seeds(6):
        _, found = planned(seed)
        groups = found.groups.values()
        members = [(m, g.trace.iterations_of(m.key)[1].tolist()) for g in groups for m in g.trace.members]
        for done, (m, numbers) in zip(work(found), members, strict=True):
            assert done.iterations == len(numbers)
            assert done.pixels == sum(int(m.iterations.x1[n] - m.iterations.x0[n]) for n in numbers)
            if not m.iterative and not m.op.access:
                assert done.taps == sum(_taps(m, n) for n in numbers)


def test_least_work_is_known_without_a_simulation() -> None:
    for seed in seeds(12):
        _, found = planned(seed)
        for group in found.groups.values():
            if not group.step.stripes:
                continue
            source = group.graph.source.tensor if group.graph.source else None
            for at_once in (1, 2, 3):
                members = [_with(m, at_once) for m in group.trace.members]
                trace = traced(members, group.step.sinks, group.graph.source, in_turn=group.step.in_turn)
                known = executed(members, group.step.sinks)
                least = least_work_of(members, group.step.sinks, source, is_reversed=group.step.is_reversed)
                works = work_of(trace, is_reversed=group.step.is_reversed)
                for m, each, done in zip(members, least, works, strict=True):
                    iterations = trace.iterations_of(m.key)[1]
                    assert np.array_equal(known[m.key].iterations, iterations)
                    assert any(_is_no_more(other, done) for other in each)


def _with(m: Member, at_once: int) -> Member:
    return replace(m, stage=replace(m.stage, at_once=at_once)) if m.nest.tile == 1 else m


def _is_no_more(least: Work, done: Work) -> bool:
    return least.kernel == done.kernel and all(getattr(least, n) <= getattr(done, n) for n in AMOUNTS)


def _taps(m: Member, n: int) -> int:
    w, seen, i = m.op.window, m.op.reads[0], m.iterations
    if m.nest.sums and i.channel_group[n] == m.nest.channel_groups - 1:
        return 0
    rows = _inside(int(i.row[n]) * w.stride_h - w.pad_top, w.kernel_h, w.dilation_h, seen.h)
    columns = [_inside(x * w.stride_w - w.pad_left, w.kernel_w, w.dilation_w, seen.w) for x in range(i.x0[n], i.x1[n])]
    return rows * sum(columns)


def _inside(first: int, kernel: int, dilation: int, size: int) -> int:
    taps: Sequence[int] = [first + k * dilation for k in range(kernel)]
    return sum(0 <= tap < size for tap in taps)
