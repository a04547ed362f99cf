"""Test candidate groups: incremental sums over firings match counting from scratch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.plan.sketch import Sketch, random_sketch, residual

from tflm_memopt.convert import pipeline
from tflm_memopt.format.limits import MAX_IO
from tflm_memopt.model.reader import read
from tflm_memopt.plan.firing.liveness import most_alive
from tflm_memopt.plan.search.blocks import (
    Candidate,
    Chain,
    Growing,
    border,
    candidates,
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
    """Yield (first, last, group) for all groups of a chain, with at most `orders` combinations of operand orders
    each.
    """
    last_read = chain.last_read()
    for last in range(1, len(chain.ops) + 1):
        growing = [seed(chain, last, last_read)]
        for first in range(last - 1, -1, -1):
            op = chain.ops[first]
            sink = last_read.get(op.output, -1) >= last
            growing = [g for old in growing for g in grow(old, chain.members[first], is_sink=sink)][:orders]
            yield from ((first, last, g) for g in growing)
            if not growing:
                break


def assert_added_up_right(chain: Chain, orders: int) -> int:
    last_read, sizes, count = chain.last_read(), chain.rows(), 0
    for first, last, block in grown(chain, orders):
        at_border = border(chain, first, last, sizes, last_read)
        settled = settle(block)
        assert worst_bytes(settled, at_border, sizes) == most_alive(settled.contents(at_border, sizes))
        count += 1
    return count


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(SEEDS)
def test_bytes_of_random_blocks(number: int) -> None:
    s = random_sketch(number)
    assert assert_added_up_right(s.chain(*s.unread()), orders=8)


def test_bytes_of_real_blocks(example: bytes) -> None:
    annotated = pipeline.annotate(read(example).graph)
    parts = partition(annotated.graph, annotated.support)
    regions = [node for node in parts.nodes if isinstance(node, Region)]
    for region in regions:
        chain = Chain(region.ops, tuple(parts.ops[i] for i in region.ops), frozenset(region.outputs), 0)
        assert assert_added_up_right(chain, orders=2) > len(chain.ops)


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(SEEDS)
def test_the_best_operand_orders_are_found(number: int) -> None:
    """With at most three ADDs all orders are tried, so no other order has fewer bytes."""
    s = random_sketch(number, most=6)
    chain = s.chain(*s.unread())
    if sum(len(op.inputs) > 1 for op in chain.ops) > 3:
        return
    last_read, sizes = chain.last_read(), chain.rows()
    least: dict[tuple[int, int], int] = {}
    for first, last, block in grown(chain, 64):
        at_border = border(chain, first, last, sizes, last_read)
        nbytes = most_alive(settle(block).contents(at_border, sizes)) + sum(sizes[t] for t in at_border.through)
        least[first, last] = min(nbytes, least.get((first, last), nbytes))
    found = [c for last in range(1, len(chain.ops) + 1) for c in candidates(chain, last, UNLIMITED)]
    assert {(c.first, c.last): c.nbytes for c in found} == least


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(SEEDS)
def test_a_limit_drops_what_is_above_it_and_nothing_else(number: int) -> None:
    s = random_sketch(number, most=6)
    chain = s.chain(*s.unread(), across=5)
    for last in range(1, len(chain.ops) + 1):
        everything = list(candidates(chain, last, UNLIMITED))
        limit = sorted(c.nbytes for c in everything)[len(everything) // 2]
        kept = {(c.first, c.nbytes) for c in candidates(chain, last, limit)}
        assert kept == {(c.first, c.nbytes) for c in everything if c.nbytes <= limit}


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(SEEDS)
def test_a_candidate_is_rebuilt_as_it_was(number: int) -> None:
    s = random_sketch(number, most=6)
    chain = s.chain(*s.unread())
    last_read, sizes = chain.last_read(), chain.rows()
    for last in range(1, len(chain.ops) + 1):
        for c in candidates(chain, last, UNLIMITED):
            block, at_border = rebuild(chain, c), border(chain, c.first, c.last, sizes, last_read)
            through = sum(sizes[t] for t in at_border.through)
            assert most_alive(block.contents(at_border, sizes)) + through == c.nbytes


def only(found: Iterator[Candidate], first: int) -> Candidate:
    return next(c for c in found if c.first == first)


def test_tensors_at_the_border_are_whole() -> None:
    s, total = residual()
    chain = s.chain(total)
    last_read, sizes = chain.last_read(), chain.rows()
    assert [border(chain, 1, 3, sizes, last_read)] == [
        type(border(chain, 1, 3, sizes, last_read))(dying=(0, 1), born=(3,), through=())
    ]
    second = border(chain, 1, 2, sizes, last_read)
    assert (second.dying, second.born, second.through) == ((1,), (2,), (0,))


def test_bytes_that_live_across_are_counted() -> None:
    s, total = residual()
    alone = only(candidates(s.chain(total), 3, UNLIMITED), 0).nbytes
    assert only(candidates(s.chain(total, across=100), 3, UNLIMITED), 0).nbytes == alone + 100


def test_a_reader_with_another_view_ends_the_block() -> None:
    """A dense layer that takes an image as one long row needs the whole image."""
    s = Sketch()
    y = s.conv(s.input(4, 2, 3), 3)
    s.rows[y] = type(s.rows[y])(1, 1, 24)
    dense = s.conv(y, 5, kernel=1)
    assert [c.first for c in candidates(s.chain(dense), 2, UNLIMITED)] == [1]


@pytest.mark.parametrize(("units", "iterative"), [(4, True), (200, False)])
def test_sums_are_used_when_they_are_smaller_than_the_rows(units: int, iterative: bool) -> None:
    s = Sketch()
    y = s.conv(s.input(6, 2, 4), 4)
    dense = s.dense(y, units)
    fused = only(candidates(s.chain(dense), 2, UNLIMITED), 0)
    assert [stage.iterative for stage in fused.stages] == [False, iterative]


def test_a_whole_tensor_is_not_summed_up_row_by_row() -> None:
    s = Sketch()
    dense = s.dense(s.input(6, 2, 4), 2)
    (alone,) = candidates(s.chain(dense), 1, UNLIMITED)
    assert not alone.stages[0].iterative


def test_a_window_too_high_for_a_kernel_is_summed_up_even_so() -> None:
    s = Sketch()
    mean = s.mean(s.input(100, 1, 4))
    (alone,) = candidates(s.chain(mean), 1, UNLIMITED)
    assert alone.stages[0].iterative


def test_rows_that_nobody_reads_cost_no_multiplications() -> None:
    s = Sketch()
    inner = s.conv(s.input(9, 1, 2), 2, kernel=1)
    outer = s.conv(inner, 2, kernel=1, stride=4, pad=0)
    chain = s.chain(outer)
    assert only(candidates(chain, 2, UNLIMITED), 0).macs == chain.ops[0].macs + chain.ops[1].macs
    short = Sketch()
    inner = short.conv(short.input(9, 1, 2), 2, kernel=1)
    outer = short.conv(inner, 2, kernel=1, stride=5, pad=0)
    chain = short.chain(outer)
    assert only(candidates(chain, 2, UNLIMITED), 0).macs == chain.ops[0].macs * 6 // 9 + chain.ops[1].macs


def test_no_block_has_more_tensors_at_its_border_than_an_operator_takes() -> None:
    s = Sketch()
    x = s.input(4, 1, 1)
    heads = [s.conv(x, 1) for _ in range(MAX_IO + 4)]
    widths = {c.last - c.first for c in candidates(s.chain(*heads), len(heads), UNLIMITED)}
    assert widths == set(range(1, MAX_IO))


def test_each_stage_says_in_which_order_it_demands() -> None:
    s, total = residual()
    block = only(candidates(s.chain(total), 3, UNLIMITED), 0)
    assert [sorted(stage.operands) for stage in block.stages] == [[0], [0], [0, 1]]
    assert list(itertools.chain(stage.op for stage in block.stages)) == [0, 1, 2]


def test_of_many_operand_orders_those_with_the_fewest_bytes_are_followed() -> None:
    """Five blocks like ResNet-8's second: the best of 32 combinations serves every shortcut first."""
    s = Sketch()
    x = s.conv(s.input(160, 8, 1), 4)
    for _ in range(5):
        shortcut = s.conv(x, 4, kernel=1, stride=2)
        x = s.add(s.conv(s.conv(x, 4, stride=2), 4), shortcut)
    chain = s.chain(x)
    last = len(chain.ops)
    found = only(candidates(chain, last, UNLIMITED, orders=4), 0)
    everything = only(candidates(chain, last, UNLIMITED, orders=64), 0)
    assert found.nbytes == everything.nbytes
    assert {stage.operands for stage in found.stages if len(stage.operands) > 1} == {(1, 0)}
