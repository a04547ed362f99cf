"""Test candidate groups: incremental sums over iterations match counting from scratch."""

from __future__ import annotations

from collections.abc import Iterator

from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.plan.sketch import Sketch, random_sketch

from tflm_memopt.check.checker import check
from tflm_memopt.convert import pipeline
from tflm_memopt.format.limits import MAX_IO
from tflm_memopt.model.reader import read
from tflm_memopt.plan.effort import Budget
from tflm_memopt.plan.iteration.liveness import GroupBorder, live_ranges, most_alive, rolling_buffer_of
from tflm_memopt.plan.plan import Group
from tflm_memopt.plan.planner import plan
from tflm_memopt.plan.search.groups import (
    Candidate,
    Chain,
    Growing,
    border,
    candidates,
    exact_bytes,
    grow,
    rebuild,
    seed,
    settle,
    worst_bytes,
)
from tflm_memopt.rowgraph.graph import Region
from tflm_memopt.rowgraph.regions import partition

UNLIMITED = 1 << 40
SEEDS = st.integers(0, 1 << 32)


def grown(chain: Chain, orders: int) -> Iterator[tuple[int, int, Growing]]:
    """Yield (first, last, group) for all groups of a chain, with up to `orders` combinations of operand orders."""
    for last in range(1, len(chain.ops) + 1):
        growing = [seed(chain, last)]
        for first in range(last - 1, -1, -1):
            op = chain.ops[first]
            sink = chain.outlives(op.output, last)
            growing = [g for old in growing for g in grow(old, chain.members[first], is_sink=sink)][:orders]
            yield from ((first, last, g) for g in growing)
            if not growing:
                break


def alive(chain: Chain, group: Growing, at_border: GroupBorder) -> int:
    inner = [m for m in group.trace.members if m.op.output not in at_border.born]
    buffers = {m.op.output: buffer for m in inner if (buffer := rolling_buffer_of(group.trace, m)).nbytes}
    return most_alive(live_ranges(group.trace, buffers, at_border, chain.sizes))


def assert_added_up_right(chain: Chain, orders: int) -> int:
    count = 0
    for first, last, group in grown(chain, orders):
        at_border = border(chain, first, last)
        assert worst_bytes(group, at_border, chain.sizes) == alive(chain, group, at_border)
        count += 1
    return count


@settings(max_examples=examples(30), derandomize=True)
@given(SEEDS)
def test_bytes_of_random_groups(number: int) -> None:
    s = random_sketch(number)
    assert assert_added_up_right(s.chain(*s.unread()), orders=8)


def test_bytes_of_real_groups(example: bytes) -> None:
    annotated = pipeline.annotate(read(example).graph)
    parts = partition(annotated.graph, annotated.support)
    regions = [node for node in parts.nodes if isinstance(node, Region)]
    for region in regions:
        chain = Chain(region.ops, tuple(parts.ops[i] for i in region.ops), frozenset(region.outputs), 0)
        assert assert_added_up_right(chain, orders=2) > len(chain.ops)


@settings(max_examples=examples(20), derandomize=True)
@given(SEEDS)
def test_the_best_operand_orders_are_found(number: int) -> None:
    """With at most three ADDs all orders are tried, so no other order has fewer bytes."""
    s = random_sketch(number, most=6)
    chain = s.chain(*s.unread())
    if sum(len(op.inputs) > 1 for op in chain.ops) > 3:
        return
    least: dict[tuple[int, int], int] = {}
    for first, last, group in grown(chain, 64):
        nbytes = exact_bytes(chain, Candidate(first, last, 0, group.macs, settle(group.trace)))
        least[first, last] = min(nbytes, least.get((first, last), nbytes))
    found = [c for last in range(1, len(chain.ops) + 1) for c in candidates(chain, last, UNLIMITED)]
    assert {(c.first, c.last) for c in found} == least.keys()
    for c in found:
        assert c.nbytes < least[c.first, c.last] if c.in_turn else c.nbytes == least[c.first, c.last]


@settings(max_examples=examples(20), derandomize=True)
@given(SEEDS)
def test_a_limit_drops_what_is_above_it_and_nothing_else(number: int) -> None:
    s = random_sketch(number, most=6)
    chain = s.chain(*s.unread(), across=5)
    for last in range(1, len(chain.ops) + 1):
        everything = list(candidates(chain, last, UNLIMITED))
        limit = sorted(c.nbytes for c in everything)[len(everything) // 2]
        kept = {(c.first, c.nbytes) for c in candidates(chain, last, limit)}
        assert kept == {(c.first, c.nbytes) for c in everything if c.nbytes <= limit}


@settings(max_examples=examples(20), derandomize=True)
@given(SEEDS)
def test_a_candidate_is_rebuilt_as_it_was(number: int) -> None:
    s = random_sketch(number, most=6)
    chain = s.chain(*s.unread())
    for last in range(1, len(chain.ops) + 1):
        for c in candidates(chain, last, UNLIMITED):
            at_border = border(chain, c.first, c.last)
            through = sum(chain.sizes[t] for t in at_border.through)
            assert most_alive(live_ranges(*rebuild(chain, c), at_border, chain.sizes)) + through == c.nbytes


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
    # the head holds both results, the input, and a few rows of the shared tensor
    assert found.head < 64 * 8 * (1 + 4 + 4) + 8 * 64 * 8
    assert any(isinstance(step, Group) and step.in_turn for step in found.steps)


def test_requests_in_turn_take_no_budget_from_other_groups() -> None:
    s = Sketch()
    shared = s.conv(s.input(64, 8, 1), 16)
    left, right = s.conv(shared, 4), s.conv(shared, 4)
    chain, budgets = s.chain(left, right), (Budget(1.0), Budget(1.0))
    apart = [*candidates(chain, 3, UNLIMITED, budget=budgets[0], turns=Budget(0.0))]
    turned = [*candidates(chain, 3, UNLIMITED, budget=budgets[1], turns=Budget(1.0))]
    assert budgets[0].left == budgets[1].left < 1.0
    assert not any(group.in_turn for group in apart)
    assert any(group.in_turn for group in turned)
    assert all(g.nbytes <= other.nbytes for g, other in zip(turned, apart, strict=True))
