"""The checker accepts each plan of the planner, and no plan needs less memory than the lower bound."""

from dataclasses import replace

import pytest
from conftest import FLOAT_IO, examples
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Net
from moving import concatenation
from unit.plan.sketch import Sketch, random_sketch

import tflm_memopt
from tflm_memopt.check.checker import check
from tflm_memopt.format.limits import MAX_IO
from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.choices import Ops
from tflm_memopt.plan.drafts import TFLM_ALIGN
from tflm_memopt.plan.iteration.reversal import reversed_op
from tflm_memopt.plan.plan import Group, Plan, Role
from tflm_memopt.plan.planner import TAIL_BYTES, Options, Planner, cost, plan
from tflm_memopt.plan.search.groups import candidates
from tflm_memopt.rowgraph.graph import Region

SECONDS = 0.1
UNLIMITED = 1 << 40


def checked(
    s: Sketch,
    *outputs: TensorId,
    op_per_group: bool = False,
    seconds: float = SECONDS,
    overlap: bool = True,
    reorder: bool = True,
    reverse: bool = True,
) -> Plan:
    graph = s.row_graph(*outputs)
    options = Options("group" if op_per_group else "region", seconds, overlap=overlap, reorder=reorder, reverse=reverse)
    found = plan(graph, options)
    check(found, graph)
    return found


@pytest.mark.slow
@settings(max_examples=examples(20), derandomize=True)
@given(st.integers(0, 1 << 32), st.booleans(), st.booleans())
def test_the_checker_accepts_every_plan(number: int, op_per_group: bool, more: bool) -> None:
    s = random_sketch(number)
    outputs = s.unread()
    inner = [op.output for op in s.ops if op.output not in outputs][:1] if more else []
    found = checked(s, *outputs, *inner, op_per_group=op_per_group)
    assert found.lower_bound <= found.head
    assert len(found.offsets) == len(found.buffers)


@pytest.mark.slow
@settings(max_examples=examples(8), derandomize=True)
@given(st.integers(0, 1 << 32))
def test_without_overlap_whole_tensors_share_nothing(number: int) -> None:
    s = random_sketch(number)
    apart = checked(s, *s.unread(), overlap=False)
    tensors = [(b, o) for b, o in apart.placed() if b.role is Role.TENSOR]
    for i, (a, x) in enumerate(tensors):
        assert all(not a.overlaps(b) or x + a.nbytes <= y or y + b.nbytes <= x for b, y in tensors[:i])


@pytest.mark.slow
@pytest.mark.parametrize("op_per_group", [False, True])
def test_more_outputs_than_an_operator_takes(op_per_group: bool) -> None:
    s = Sketch()
    x = s.conv(s.input(8, 4, 4), 4)
    heads = [s.conv(x, 2, kernel=1, stride=4) for _ in range(2 * MAX_IO)]
    checked(s, *heads, op_per_group=op_per_group)
    regions = [n for n in s.row_graph(*heads).nodes if isinstance(n, Region)]
    assert len(regions) > 1
    assert all(len(r.inputs) + len(r.outputs) <= MAX_IO for r in regions)


def test_a_group_that_needs_less_when_it_is_reversed_is_reversed() -> None:
    s = Sketch()
    x = s.conv(s.conv(s.input(20, 1, 8), 4, kernel=3, stride=2), 16, kernel=1, stride=2)
    found, forward = checked(s, x), checked(s, x, reverse=False)
    assert forward.proven
    assert found.head < forward.lower_bound
    assert any(isinstance(step, Group) and step.is_reversed for step in found.steps)


@pytest.mark.parametrize(("height", "head"), [(20, 812), (40, 1616)])
def test_a_group_is_not_reversed_for_few_bytes(height: int, head: int) -> None:
    s = Sketch()
    x = s.conv(s.conv(s.input(height, 5, 8), 4, kernel=3, stride=2), 3, kernel=1)
    found = checked(s, x)
    assert found.head == head
    assert any(isinstance(step, Group) and step.is_reversed for step in found.steps) == (height == 20)


@pytest.mark.parametrize("seconds", [None, 0])
def test_sums_over_the_same_rows_run_together(seconds: float | None) -> None:
    net = Net()
    x = net.conv2d(net.input((1, 30, 12, 1)), 12, kernel=(3, 3))
    means = [net.mean(x, (1, 2)), net.pool(x, kind="MAX_POOL_2D", kernel=(30, 12), stride=(30, 12))]
    data = net.model(concatenation(net, [net.reshape(m, (1, 12)) for m in means], 1))
    assert tflm_memopt.optimize(data, seconds=seconds).report.arena.head < 30 * 12 * 6


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
    assert found.head < 64 * 8 * (1 + 4 + 4) + 8 * 64 * 8
    assert any(isinstance(step, Group) and step.in_turn for step in found.steps)


def test_a_reversed_window_pads_on_the_other_side() -> None:
    s = Sketch()
    s.conv(s.input(8, 1, 4), 4, stride=2)
    assert s.ops[0].window.pad_top == 0
    other = reversed_op(s.ops[0], pixels=False)
    assert other is not None
    assert other.window.pad_top == 1
    rows = [s.ops[0].rows_read(0, y) for y in range(4)]
    assert [other.rows_read(0, y) for y in range(4)] == [(8 - end, 8 - first) for first, end in reversed(rows)]


def test_few_groups_if_each_group_becomes_an_operator() -> None:
    s = Sketch()
    x = s.conv(s.input(16, 16, 8), 8, kernel=1, stride=8)
    for _ in range(60):
        x = s.conv(x, 8, kernel=1)
    by_group, by_region = checked(s, x, op_per_group=True), checked(s, x)
    assert by_group.head - by_region.head < TFLM_ALIGN
    assert len(by_group.steps) == 2


@pytest.mark.parametrize("ops", ["group", "region"])
def test_each_group_may_count_as_an_operator(ops: Ops) -> None:
    s = Sketch()
    x = s.conv(s.input(8, 8, 4), 4)
    graph, options = s.row_graph(x), Options(ops, SECONDS)
    found = plan(graph, options)
    more = replace(found, steps=(*found.steps, *(replace(step, macs=0) for step in found.steps)))
    grows = ops == "group"
    assert cost(ops, more)[0] - cost(ops, found)[0] == grows * TAIL_BYTES * len(found.steps)
    lower = replace(more, head=found.head - TAIL_BYTES // 2)
    assert (Planner(graph, options).plan(graph.macs, [lower]) is lower) == (not grows)


def test_tiles_that_cannot_save_memory_are_not_used() -> None:
    """The float32 input takes nearly the whole arena, so rows need as few bytes as tiles, and rows are faster."""
    made = tflm_memopt.optimize(FLOAT_IO, effort=0.2)
    assert made.plan.head < 48 * 48 * 3 * 4 + TFLM_ALIGN
    assert not any(isinstance(step, Group) and step.stripes for step in made.plan.steps)
