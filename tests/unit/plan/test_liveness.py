"""The checker accepts two overlapping buffers only if their distance is at least the computed minimum."""

from dataclasses import replace
from unittest import mock

import pytest
from conftest import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from unit.plan.sketch import Sketch, random_sketch

from tflm_memopt.check.checker import check
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.iteration.liveness import LiveRange, constraints, live_ranges
from tflm_memopt.plan.iteration.planned import looped
from tflm_memopt.plan.plan import Group, Plan, Role
from tflm_memopt.plan.search.groups import Candidate, Chain, border, candidates, rebuild

UNLIMITED = 1 << 40


def whole_group(chain: Chain) -> Candidate:
    return next(c for c in candidates(chain, len(chain.ops), UNLIMITED) if c.first == 0)


def ranges_of(chain: Chain, group: Candidate) -> tuple[LiveRange, ...]:
    return live_ranges(*rebuild(chain, group), border(chain, group.first, group.last), chain.sizes)


def constraint(s: Sketch, lower: TensorId, upper: TensorId, *wanted: TensorId) -> int:
    chain = s.chain(*wanted)
    ranges = ranges_of(chain, whole_group(chain))
    index = {c.buffer.key: i for i, c in enumerate(ranges) if c.buffer.role in (Role.TENSOR, Role.ROLLING_BUFFER)}
    return constraints(ranges)[index[lower], index[upper]]


def judge(s: Sketch, chain: Chain, group: Candidate, low: int, high: int, distance: int) -> str:
    """Place the buffer `high` so that it starts `distance` bytes above the buffer `low`, and return the checker's error
    message or "".
    """
    ranges = ranges_of(chain, group)
    far, offsets = sum(c.buffer.nbytes + 64 for c in ranges), [0] * len(ranges)
    offsets[low], offsets[high] = far, far + distance
    at = 3 * far
    for i, c in enumerate(ranges):
        if i not in (low, high):
            offsets[i] = at
            at += (c.buffer.nbytes + 15) // 16 * 16
    keys = [0 if c.buffer.role is Role.COUNTERS else c.buffer.key for c in ranges]
    buffers = tuple(replace(c.buffer, key=k, last=1) for c, k in zip(ranges, keys, strict=True))
    ops = {op.output: i for i, op in enumerate(chain.ops)}
    tensors = [r.buffer.key for r in ranges if r.buffer.role is Role.TENSOR]
    wanted = [t for t in tensors if t in chain.outside and t in ops]
    trace, _ = rebuild(chain, group)
    sinks = tuple(sorted((ops[t] for t in wanted), reverse=True))
    step = Group(0, group.stages, sinks, len(trace.moments), group.macs, group.stripes, loops=looped(trace))
    plan = Plan((step,), buffers, tuple(offsets), at, 0, proven=False)
    unaligned = mock.patch.dict("tflm_memopt.check.arena.LEAST_ALIGN", clear=True)
    with mock.patch("tflm_memopt.check.checker.ARENA_ALIGN", 1), unaligned:
        try:
            check(plan, s.row_graph(*wanted))
        except PlanError as error:
            return str(error)
    return ""


@pytest.mark.slow
@settings(max_examples=examples(20), derandomize=True)
@given(st.integers(0, 1 << 32))
def test_every_constraint_is_safe(number: int) -> None:
    s = random_sketch(number, most=5)
    chain = s.chain(*s.unread())
    group = whole_group(chain)
    ranges = ranges_of(chain, group)
    for (low, high), distance in constraints(ranges).items():
        if distance > -ranges[high].buffer.nbytes:
            assert judge(s, chain, group, low, high, distance) == ""


@settings(max_examples=examples(30), derandomize=True)
@given(st.integers(0, 1 << 32))
def test_a_byte_less_is_too_close(number: int) -> None:
    s = random_sketch(number, least=1, most=1)
    (op,) = s.ops
    assume(len(set(op.inputs)) == 1 and op.writes.nbytes > 1)
    chain = s.chain(op.output)
    group = whole_group(chain)
    ranges = ranges_of(chain, group)
    where = {c.buffer.key: i for i, c in enumerate(ranges) if c.buffer.role is Role.TENSOR}
    low, high = where[op.output], where[op.inputs[0]]
    distance = constraints(ranges)[low, high]
    assert judge(s, chain, group, low, high, distance) == ""
    assert judge(s, chain, group, low, high, distance - 1) != ""


def test_an_output_does_not_start_above_the_row_that_it_replaces() -> None:
    s = Sketch()
    x = s.input(1, 6, 3)
    y = s.relu(x)
    assert constraint(s, y, x, y) == 0
