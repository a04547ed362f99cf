"""Test the checker on inputs outside the arena."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.plan.damage import with_offset
from unit.plan.subjects import subject

from tflm_memopt.check.arena import TaggedArena
from tflm_memopt.check.source import SourceReplay
from tflm_memopt.errors import PlanError
from tflm_memopt.plan.plan import Role


@pytest.mark.parametrize("name", ["streamed", "streamed classifier"])
@pytest.mark.parametrize("role", [Role.ROLLING_BUFFER, Role.COUNTERS])
def test_nothing_that_outlives_an_invoke_may_lie_where_rows_are_pushed(name: str, role: Role) -> None:
    """The caller writes rows of a streamed input while the program waits."""
    real = subject(name)
    plan, source = real.planned.plan, real.planned.graph.source
    assert source is not None
    pushed = plan.find(Role.TENSOR, source.tensor)
    assert pushed is not None
    for i, b in enumerate(plan.buffers):
        if b.role is role and b.first == 0:
            moved = replace(with_offset(plan, i, pushed[1]), head=plan.head + b.nbytes)
            assert not real.passes(moved), f"{b.role} {b.key}"


def test_a_stream_is_read_in_the_first_group_only() -> None:
    real = subject("streamed classifier")
    graph, source = real.planned.graph.model, real.planned.graph.source
    replay = SourceReplay(TaggedArena(real.planned.plan, {t: graph.tensors[t].nbytes for t in graph.tensors}), source)
    replay.wait_for(1, "operator 0")
    replay.end_of_group()
    with pytest.raises(
        PlanError, match="operator 5 reads the streamed input, which is only available in the first group"
    ):
        replay.wait_for(1, "operator 5")
