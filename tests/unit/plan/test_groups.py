"""Incremental sums over iterations match a count from scratch, for all groups that the planner considers."""

from __future__ import annotations

from unit.plan.sketch import Sketch

from tflm_memopt.check.checker import check
from tflm_memopt.format.limits import MAX_IO
from tflm_memopt.plan.plan import Group
from tflm_memopt.plan.planner import plan
from tflm_memopt.plan.search.groups import candidates

UNLIMITED = 1 << 40


def test_no_group_has_more_tensors_at_its_border_than_an_operator_takes() -> None:
    s = Sketch()
    x = s.input(4, 1, 1)
    heads = [s.conv(x, 1) for _ in range(MAX_IO + 4)]
    widths = {c.last - c.first for c in candidates(s.chain(*heads), len(heads), UNLIMITED)}
    assert widths == set(range(1, MAX_IO))


def test_branches_that_end_in_whole_tensors_share_the_rows_that_they_read() -> None:
    s = Sketch()
    shared = s.conv(s.input(64, 8, 1), 16)
    graph = s.row_graph(s.conv(shared, 4), s.conv(shared, 4))
    found = plan(graph)
    check(found, graph)
    # the arena holds the results of both convolutions, the input, and a few rows of the shared tensor
    assert found.head < 64 * 8 * (1 + 4 + 4) + 8 * 64 * 8
    assert any(isinstance(step, Group) and step.in_turn for step in found.steps)
