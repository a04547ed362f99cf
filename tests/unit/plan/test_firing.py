"""Compare the trace, built backwards from arrays, with the naive simulation, and rolling buffers with known depths."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Net
from unit.plan.sketch import Actor, Sketch, random_sketch, residual, rows_kept, simulate
from unit.plan.tiled import chains_of

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.firing.trace import FIRE, OUTSIDE, Member, Trace, ring_depth
from tflm_memopt.plan.search.blocks import Chain, Growing, grow, seed
from tflm_memopt.plan.walk import Walk

SEEDS = st.integers(0, 1 << 32)


def all_blocks(chain: Chain, last: int) -> list[Growing]:
    """Every group that ends at `last`, in every combination of operand orders."""
    last_read = chain.last_read()
    growing, found = [seed(chain, last, last_read)], []
    for first in range(last - 1, -1, -1):
        sink = last_read.get(chain.ops[first].output, -1) >= last
        growing = [g for old in growing for g in grow(old, chain.members[first], is_sink=sink)][:16]
        found += growing
    return found


def actors(trace: Trace) -> dict[int, Actor]:
    return {m.key: Actor(m.op, m.operands, m.iterative) for m in trace.members}


def sinks(trace: Trace, wanted: set[TensorId]) -> list[int]:
    """Operators whose outputs leave the group, from the last to the first."""
    return [m.key for m in reversed(trace.members) if m.op.output in wanted]


def fired(trace: Trace) -> list[tuple[int, int]]:
    return [(int(trace.op[at]), int(trace.firing[at])) for at in trace.moments]


def leaving(chain: Chain, block: Trace, last: int) -> set[TensorId]:
    last_read = chain.last_read()
    return {m.op.output for m in block.members if last_read.get(m.op.output, -1) >= last}


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(SEEDS)
def test_trace_and_rings_are_those_of_the_naive_simulation(number: int) -> None:
    s = random_sketch(number)
    chain = s.chain(*s.unread())
    for last in range(1, len(chain.ops) + 1):
        for block in all_blocks(chain, last):
            cast = actors(block.trace)
            order = simulate(cast, sinks(block.trace, leaving(chain, block.trace, last)))
            assert fired(block.trace) == order
            for tensor, ring in block.rings.items():
                (key,) = (m.key for m in block.trace.members if m.op.output == tensor)
                assert ring.depth == rows_kept(cast, order, key)


def rings(s: Sketch, *wanted: TensorId) -> list[dict[TensorId, int]]:
    """Depths of rolling buffers for the whole sketch as one group, per combination of operand orders."""
    chain = s.chain(*wanted)
    blocks = [g for g in all_blocks(chain, len(chain.ops)) if len(g.trace.members) == len(chain.ops)]
    return [{tensor: ring.depth for tensor, ring in g.rings.items()} for g in blocks]


@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(1, 1, 1), (3, 1, 1), (3, 2, 1), (5, 1, 1), (3, 1, 2)])
def test_a_line_buffer_is_as_deep_as_the_window(kernel: int, stride: int, dilation: int) -> None:
    s = Sketch()
    inner = s.conv(s.input(40, 4, 4), 4, kernel=1)
    outer = s.conv(inner, 4, kernel=kernel, stride=stride, dilation=dilation)
    assert rings(s, outer) == [{inner: (kernel - 1) * dilation + 1}]


def test_each_layer_of_a_chain_keeps_its_reader_s_window() -> None:
    s = Sketch()
    a = s.conv(s.input(40, 4, 4), 4)
    b = s.conv(a, 4, kernel=5)
    c = s.conv(b, 4, kernel=2, stride=2)
    assert rings(s, s.conv(c, 4)) == [{a: 5, b: 2, c: 3}]


def test_rows_between_strides_take_one_slot() -> None:
    s = Sketch()
    inner = s.conv(s.input(20, 4, 4), 4)
    assert rings(s, s.conv(inner, 4, kernel=1, stride=3)) == [{inner: 1}]


def test_a_window_higher_than_its_input_keeps_all_of_it() -> None:
    s = Sketch()
    inner = s.conv(s.input(4, 4, 4), 4)
    assert rings(s, s.conv(inner, 4, kernel=9)) == [{inner: 4}]


def test_an_identity_shortcut_costs_no_rows() -> None:
    """If the input of ResNet's block is made inside, the first convolution keeps those three rows anyway."""
    s = Sketch()
    stem = s.conv(s.input(32, 32, 3), 16)
    first = s.conv(stem, 16)
    second = s.conv(first, 16)
    shortcut_first, residual_first = rings(s, s.add(stem, second))
    assert shortcut_first == residual_first == {stem: 3, first: 3, second: 1}


def test_demanding_the_shortcut_first_keeps_fewer_rows_of_a_strided_block() -> None:
    """In ResNet-8's second block the convolutions are four rows ahead of the shortcut, unless it is served first."""
    s = Sketch()
    stem = s.conv(s.input(32, 32, 3), 16)
    shortcut = s.conv(stem, 32, kernel=1, stride=2)
    first = s.conv(stem, 32, stride=2)
    second = s.conv(first, 32)
    shortcut_first, residual_first = rings(s, s.add(shortcut, second))
    assert shortcut_first == {stem: 3, shortcut: 1, first: 3, second: 1}
    assert residual_first == {stem: 5, shortcut: 1, first: 3, second: 1}


def test_an_operator_that_sums_up_needs_one_row_at_a_time() -> None:
    s = Sketch()
    inner = s.conv(s.input(20, 4, 4), 4)
    mean = s.mean(inner)
    assert rings(s, mean) == [{inner: 1}]


def test_a_trace_keeps_demands_for_producers_to_come() -> None:
    s = Sketch()
    chain = s_chain(s)
    block = all_blocks(chain, len(chain.ops))[0]
    waiting = block.trace.slot != FIRE
    assert waiting.sum() == block.trace.members[0].op.writes.h
    assert not (block.trace.op[waiting] == OUTSIDE).any()


def s_chain(s: Sketch) -> Chain:
    return s.chain(s.conv(s.conv(s.input(6, 1, 1), 1), 1))


def test_an_operator_that_nobody_reads_never_fires() -> None:
    s = Sketch()
    x = s.input(4, 1, 1)
    s.conv(x, 1)
    wanted = s.conv(x, 1)
    chain = s.chain(wanted)
    (block,) = [g for g in all_blocks(chain, 2) if len(g.trace.members) == 2]
    assert [key for key, _ in fired(block.trace)] == [1] * 4
    assert ring_depth(block.trace, Member(0, s.ops[0], (0,), iterative=False)) == 0


def test_numbers_of_tensors_mean_nothing() -> None:
    expected = [(key, k) for key, firings in ((2, 3), (1, 6), (0, 6)) for k in range(firings)]
    for first in range(300):
        s = Sketch(first=first)
        x = s.input(6, 1, 1)
        chain = s.chain(s.conv(x, 1), s.relu(x), s.pool(x))
        assert fired(all_blocks(chain, len(chain.ops))[-1].trace) == expected


def test_a_residual_block_reads_its_input_from_outside() -> None:
    s, total = residual()
    assert [set(r) for r in rings(s, total)] == [{1, 2}, {1, 2}]


def test_every_tile_reads_the_only_column_of_an_operand() -> None:
    net = Net()
    product = net.binary("MUL", net.input((1, 4, 6, 2)), net.input((1, 4, 1, 2)))
    (chain,) = chains_of(net.model(product))
    (op,) = chain.ops
    member = Member(0, op, (0, 1), iterative=False, walk=Walk(tile=2), strips=4)
    first, end = member.columns(1, np.arange(member.firings))
    assert member.firings == 12 and not first.any() and (end == 1).all()
