"""Compare the trace, built backwards from arrays, with the naive simulation, and rolling buffers with known depths."""

from __future__ import annotations

from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.plan.sketch import Actor, Sketch, actor, random_sketch, rows_kept, simulate

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.iteration.liveness import rolling_buffer_of
from tflm_memopt.plan.iteration.trace import EXECUTE, OUTSIDE, Trace
from tflm_memopt.plan.search.groups import Chain, Growing, grow, seed

SEEDS = st.integers(0, 1 << 32)


def all_groups(chain: Chain, last: int) -> list[Growing]:
    """Every group that ends at `last`, in every combination of operand orders."""
    growing, found = [seed(chain, last)], []
    for first in range(last - 1, -1, -1):
        sink = chain.outlives(chain.ops[first].output, last)
        growing = [g for old in growing for g in grow(old, chain.members[first], is_sink=sink)][:16]
        found += growing
    return found


def actors(trace: Trace) -> dict[int, Actor]:
    return {m.key: actor(m.op, m.stage.operands, m.iterative) for m in trace.members}


def sinks(trace: Trace, wanted: set[TensorId]) -> list[int]:
    """Operators whose outputs leave the group, from the last to the first."""
    return [m.key for m in reversed(trace.members) if m.op.output in wanted]


def executed(trace: Trace) -> list[tuple[int, int]]:
    return [(int(trace.op[at]), int(trace.iteration[at])) for at in trace.moments]


def leaving(chain: Chain, group: Trace, last: int) -> set[TensorId]:
    return {m.op.output for m in group.members if chain.outlives(m.op.output, last)}


@settings(max_examples=examples(30), derandomize=True)
@given(SEEDS)
def test_trace_and_rolling_buffers_are_those_of_the_naive_simulation(number: int) -> None:
    s = random_sketch(number)
    chain = s.chain(*s.unread())
    for last in range(1, len(chain.ops) + 1):
        for group in all_groups(chain, last):
            cast, outputs = actors(group.trace), leaving(chain, group.trace, last)
            order = simulate(cast, sinks(group.trace, outputs))
            assert executed(group.trace) == order
            for m in group.trace.members:
                if m.op.output not in outputs:
                    assert rolling_buffer_of(group.trace, m).depth == rows_kept(cast, order, m.key)


def test_sums_of_the_same_rows_run_together() -> None:
    s = Sketch()
    x = s.conv(s.input(6, 1, 1), 1)
    chain = s.chain(s.mean(x), s.mean(x), s.mean(x))
    group = all_groups(chain, len(chain.ops))[-1]
    order = executed(group.trace)
    assert order == simulate(actors(group.trace), sinks(group.trace, leaving(chain, group.trace, len(chain.ops))))
    assert [key for key, _ in order] == [*chain.keys] * 6


def test_a_trace_keeps_demands_for_producers_to_come() -> None:
    s = Sketch()
    chain = s_chain(s)
    group = all_groups(chain, len(chain.ops))[0]
    waiting = group.trace.slot != EXECUTE
    assert waiting.sum() == group.trace.members[0].op.writes.h
    assert not (group.trace.op[waiting] == OUTSIDE).any()


def s_chain(s: Sketch) -> Chain:
    return s.chain(s.conv(s.conv(s.input(6, 1, 1), 1), 1))
