"""The checker refuses every plan that would give wrong bytes.

Each test damages a plan in one place. If the checker accepts the damaged plan, the executor's output bytes must be
right.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from conftest import thinned
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Net
from planning import plan_of
from unit.plan.damage import (
    ALWAYS_WRONG,
    MAY_BE_HARMLESS,
    Mutants,
    groups,
    moved_buffers,
    place,
    shallower_rolling_buffers,
    with_buffer,
    with_step,
)
from unit.plan.sketch import Sketch, random_sketch
from unit.plan.subjects import MODELS, OPTIONS, Subject, subject

from tflm_memopt.check import arena
from tflm_memopt.check.arena import Accesses, TaggedArena
from tflm_memopt.check.checker import check
from tflm_memopt.check.places import SourceReplay
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import PlanError
from tflm_memopt.model.reader import read
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.plan.plan import Plan, Role
from tflm_memopt.plan.planner import Options, plan
from tflm_memopt.rowgraph.regions import partition

QUICKLY = {"pointwise", "streamed"}


@pytest.fixture(params=MODELS)
def real(request: pytest.FixtureRequest) -> Subject:
    return subject(request.param)


@pytest.mark.parametrize("names", thinned([QUICKLY, MODELS.keys() - QUICKLY], 1), ids=["quick", "others"])
@pytest.mark.parametrize("damage", ALWAYS_WRONG, ids=lambda f: f.__name__)
def test_what_is_always_wrong_is_always_refused(damage: Callable[[Plan], Mutants], names: set[str]) -> None:
    planted = 0
    for name in names:
        real = subject(name)
        for what, mutant in damage(real.planned.plan):
            assert not real.passes(mutant), f"{name}: {what}"
            planted += 1
    assert planted


@pytest.mark.slow
@settings(max_examples=40, derandomize=True)
@given(st.integers(0, 1 << 32))
def test_no_rolling_buffer_is_deeper_than_it_must_be(number: int) -> None:
    s = random_sketch(number, tallest=40)
    outputs = s.unread()
    graph = s.row_graph(*outputs)
    for _, mutant in shallower_rolling_buffers(plan(graph, OPTIONS)):
        with pytest.raises(PlanError, match=r"overwritten|whole rows"):
            check(mutant, graph)


@pytest.mark.slow
def test_what_passes_runs_right(record_property: Callable[[str, object], None]) -> None:
    refused, passed = 0, 0
    for name in MODELS:
        real = subject(name)
        for damage in MAY_BE_HARMLESS:
            for what, mutant in damage(real.planned.plan):
                if real.passes(mutant):
                    assert real.runs_right(mutant), f"{name}: {what} passes, and runs wrong"
                    passed += 1
                else:
                    refused += 1
    record_property("mutants refused, passed", (refused, passed))
    assert refused > 4 * passed > 0


def test_blocks_of_memory_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    real = subject("pointwise")
    mutants = [mutant for _, mutant in moved_buffers(real.planned.plan)]
    passes = [real.passes(mutant) for mutant in mutants]
    monkeypatch.setattr(arena, "MOST_AT_ONCE", 50)
    assert [real.passes(mutant) for mutant in mutants] == passes
    assert {*passes} == {True, False}


def test_a_tall_transpose_takes_few_accesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the whole output is a single row, the checker does not replay the row for each iteration."""
    net, listed, access = Net(1), list[int](), TaggedArena.access
    x = net.transpose(net.softmax(net.input((1, 1000, 4, 1))), (0, 2, 3, 1))

    def counted(self: TaggedArena, accesses: Accesses) -> None:
        listed.append(len(accesses.at) * accesses.nbytes)
        access(self, accesses)

    monkeypatch.setattr(TaggedArena, "access", counted)
    plan_of(read(net.model(x)).graph, ConversionOptions(seconds=0, effort=0.05))
    assert 4000 <= sum(listed) < 20 * 4000


def test_a_buffer_that_ends_above_the_head() -> None:
    found = subject("pointwise").planned.plan
    i, counters = next((i, b) for i, b in enumerate(found.buffers) if b.role is Role.COUNTERS)
    mutant = with_buffer(found, i, replace(counters, nbytes=found.head + 1))
    with pytest.raises(PlanError, match="outside of the head"):
        check(mutant, subject("pointwise").planned.graph)


def test_nothing_is_refused_that_is_right(real: Subject) -> None:
    assert real.passes(real.planned.plan)
    assert real.runs_right(real.planned.plan)


def test_a_builtin_operator_s_output_on_its_input() -> None:
    s = Sketch()
    x = s.input(8, 1, 16)
    y = s.conv(s.conv(x, 16, kernel=1), 16)
    graph = partition(s.graph(y), {0: Unsupported("test", "because", "", ""), 1: s.ops[1]})
    found = plan(graph, Options(seconds=0.2))
    (at,) = (o for b, o in found.placed() if (b.role, b.key) == (Role.TENSOR, x))
    mutant = place(found, Role.TENSOR, s.ops[0].output, at)
    with pytest.raises(PlanError, match=r"^builtin operator 0, tensor 0: byte 0"):
        check(mutant, graph)


def test_an_operator_that_the_plan_leaves_out() -> None:
    s = Sketch()
    y = s.conv(s.input(8, 1, 16), 8)
    found = plan(s.row_graph(y), Options(seconds=0.2))
    with pytest.raises(PlanError, match=r"the plan runs operators \[\], but the graph has \[0\]"):
        check(replace(found, steps=()), s.row_graph(y))


@pytest.mark.parametrize("name", ["streamed", "external"])
def test_rows_of_the_caller_are_not_read_backwards(name: str) -> None:
    real = subject(name)
    source = real.planned.graph.source
    assert source
    reads = {key for key, op in real.planned.graph.ops.items() if source.tensor in op.inputs}
    for n, group in groups(real.planned.plan):
        if reads.intersection(stage.op for stage in group.stages):
            backwards = with_step(real.planned.plan, n, replace(group, is_reversed=True))
            with pytest.raises(PlanError, match="it reads the caller's rows"):
                check(backwards, real.planned.graph)


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
