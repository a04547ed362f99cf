"""Test the checker on inputs outside the arena."""

from __future__ import annotations

import pytest
from unit.plan.subjects import subject

from tflm_memopt.check.arena import TaggedArena
from tflm_memopt.check.source import SourceReplay
from tflm_memopt.errors import PlanError


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
