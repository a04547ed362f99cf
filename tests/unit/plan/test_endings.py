from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from unittest import mock

import numpy as np
import pytest
from unit.plan.tiled import planned

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.iteration import endings
from tflm_memopt.plan.iteration.column_windows import lives
from tflm_memopt.plan.iteration.endings import Endings
from tflm_memopt.plan.iteration.liveness import GroupBorder, live_ranges, most_alive, rolling_buffer_of
from tflm_memopt.plan.iteration.trace import Member, Trace, prepend, traced
from tflm_memopt.plan.plan import Buffer


def variants(members: Sequence[Member]) -> Iterator[tuple[Member, ...]]:
    yield tuple(members)
    for i, member in reversed([*enumerate(members)]):
        nest = member.nest
        if nest.tile and nest.channel_groups == 1 and not member.iterative:
            wider = replace(member, stage=replace(member.stage, nest=replace(nest, tile=nest.tile + 1)))
            yield (*members[:i], wider, *members[i + 1 :])
    yield tuple(members)


def assert_same(trace: Trace, buffers: Mapping[TensorId, Buffer], alone: Trace, sinks: Sequence[int]) -> None:
    assert np.array_equal(trace.entry, alone.entry)
    assert np.array_equal(trace.iteration, alone.iteration)
    inner = [m for m in alone.members if m.key not in sinks]
    found = {m.op.output: rolling_buffer_of(alone, m) for m in inner}
    assert dict(buffers) == {t: buffer for t, buffer in found.items() if buffer.nbytes}
    for m in (m for m in inner if m.stripes):
        for field in fields(lives(alone, m)):
            assert np.array_equal(getattr(lives(trace, m), field.name), getattr(lives(alone, m), field.name))


@pytest.mark.parametrize("most_entries", [0, endings.MOST_ENTRIES])
@pytest.mark.parametrize("seed", range(12))
def test_a_shared_ending_is_what_the_group_has_alone(seed: int, most_entries: int) -> None:
    _, plan = planned(seed)
    for group in plan.groups.values():
        sinks, source, in_turn = group.step.sinks, group.graph.source, group.step.in_turn
        known = Endings(source)
        for members in variants(group.trace.members):
            with mock.patch.object(endings, "MOST_ENTRIES", most_entries):
                trace, buffers = known.rebuild(members, sinks, group.step.stripes, in_turn=in_turn)
            assert_same(trace, buffers, traced(members, sinks, source, in_turn=in_turn), sinks)


@pytest.mark.parametrize("seed", range(12))
def test_part_of_a_group_needs_at_most_the_bytes_of_the_group(seed: int) -> None:
    _, plan = planned(seed)
    for group in plan.groups.values():
        step, source = group.step, group.graph.source
        if not step.stripes or source:
            continue
        sizes = {t: rows.nbytes for m in group.trace.members for t, rows in m.op.seen()}
        made, read = {m.op.output for m in group.trace.members}, {t for m in group.trace.members for t in m.op.inputs}
        born = tuple(m.op.output for m in group.trace.members if m.key in step.sinks)
        border = GroupBorder(dying=tuple(sorted(read - made)), born=born, through=())
        known = Endings(source)
        for members in variants(group.trace.members):
            nbytes = [
                most_alive(live_ranges(*simulated, border, sizes))
                for in_part in (True, False, True)
                for simulated in [known.rebuild(members, step.sinks, step.stripes, in_turn=False, in_part=in_part)]
            ]
            assert nbytes[0] <= nbytes[1] == nbytes[2]


def test_operators_behind_a_change_are_not_simulated_again() -> None:
    _, plan = planned(0)
    group = max(plan.groups.values(), key=lambda group: len(group.trace.members))
    members, known = group.trace.members, Endings(group.graph.source)
    with mock.patch.object(endings, "prepend", wraps=prepend) as simulated:
        known.rebuild(members, group.step.sinks, group.step.stripes, in_turn=False)
        assert simulated.call_count == len(members) > 1
        first = replace(members[0], stage=replace(members[0].stage, nest=replace(members[0].nest, tile=7)))
        known.rebuild((first, *members[1:]), group.step.sinks, group.step.stripes, in_turn=False)
        assert simulated.call_count == len(members) + 1
