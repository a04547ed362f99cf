"""The checker refuses every planted defect.

Plans of real models are damaged one thing at a time. Most sorts of damage are wrong whatever the plan. A buffer that
moved may have moved into free space, and operands may be demanded in another order that fits as well: such a mutant may
pass, and then it must run, in the host executor with all buffers where the mutant puts them, and give the right bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from conftest import thinned
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Net
from unit.plan.sketch import Sketch, random_sketch, residual

from tflm_memopt import pipeline
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.model.int8_io import Int8Interface
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import Model, read
from tflm_memopt.pipeline import Planned
from tflm_memopt.plan.check import check
from tflm_memopt.plan.check_arena import Arena
from tflm_memopt.plan.check_frame import FrameReplay
from tflm_memopt.plan.inputs import input_mode
from tflm_memopt.plan.plan import Block, Buffer, Plan, Role, Stage
from tflm_memopt.plan.planner import Options, plan
from tflm_memopt.runtime import host, host_model, regions

OPTIONS = Options(seconds=0.1)


# ---- plans of real models ----


def _classifier() -> bytes:
    """Residual blocks, a strided one among them, global pooling, a dense tail."""
    net = Net(seed=3)
    stem = net.conv2d(net.input((1, 12, 12, 3)), 8, kernel=(3, 3), activation="RELU")
    y = net.conv2d(net.conv2d(stem, 8, kernel=(3, 3)), 8, kernel=(3, 3))
    block = net.add(stem, y)
    shortcut = net.conv2d(block, 12, stride=(2, 2))
    y = net.conv2d(net.conv2d(block, 12, kernel=(3, 3), stride=(2, 2)), 12, kernel=(3, 3))
    pooled = net.mean(net.unary("RELU", net.add(shortcut, y)), (1, 2))
    return net.model(net.softmax(net.fully_connected(pooled, 10)))


def _pyramid() -> bytes:
    """Three outputs of different heights, one of them read inside as well."""
    net = Net(seed=4)
    x = net.depthwise_conv2d(net.input((1, 16, 6, 4)), kernel=(3, 3))
    small = net.conv2d(net.pool(x), 6, kernel=(3, 3))
    tiny = net.pool(small, kind="MAX_POOL_2D")
    return net.model(net.conv2d(tiny, 3), small, net.unary("RELU", x))


def _pointwise() -> bytes:
    """Layers that vMCU would overlap one by one, and an elementwise one that works in place."""
    net = Net(seed=5)
    x = net.input((1, 20, 1, 32))
    return net.model(net.conv2d(net.unary("RELU", net.conv2d(x, 16)), 24))


def _fused() -> bytes:
    """Wide inside, narrow outside: one block of line buffers, a shortcut and sums."""
    net = Net(seed=6)
    x = net.conv2d(net.input((1, 30, 12, 1)), 8, kernel=(3, 3))
    y = net.depthwise_conv2d(net.conv2d(x, 8, kernel=(5, 3)), kernel=(3, 3), dilation=(2, 1))
    total = net.add(net.unary("RELU", x, out=net.affine(x)), y)
    return net.model(net.mean(net.conv2d(total, 12), (1, 2)), net.conv2d(net.conv2d(total, 8, kernel=(3, 3)), 1))


MODELS: dict[str, Callable[[], bytes]] = {
    "classifier": _classifier,
    "pyramid": _pyramid,
    "pointwise": _pointwise,
    "fused": _fused,
    "streamed": _fused,
    "streamed classifier": _classifier,
    "external": _pyramid,
    "external pointwise": _pointwise,
}
INPUTS = {
    "streamed": "stream:3",
    "streamed classifier": "stream",
    "external": "external",
    "external pointwise": "external",
}
"""Where it is not in the arena."""


QUICKLY = {"pointwise", "streamed"}
"""Looked at by the quick tests."""


@dataclass(frozen=True)
class Subject:
    """A model, its plan, and what it must compute."""

    model: Model
    planned: Planned
    inputs: list[np.ndarray]
    outputs: tuple[np.ndarray, ...]
    options: Options

    def passes(self, mutant: Plan) -> bool:
        try:
            check(mutant, self.planned.understood.graph, self.planned.partition)
        except PlanError:
            return False
        return True

    def runs_right(self, mutant: Plan) -> bool:
        """In the host executor, every buffer where the mutant puts it."""
        border = Int8Interface(self.model.graph, Changes(), {}, ())
        new = read(pipeline.lower(self.model, border, replace(self.planned, plan=mutant), self.options))
        (region,) = regions.regions(new)
        sizes = [new.graph.tensors[t].nbytes for t in region.outputs]
        got = host.run_guarded(region.program, regions.placement(new, region), self.inputs, sizes)
        by_name = {new.graph.tensors[t].name: values for t, values in zip(region.outputs, got, strict=True)}
        names = [self.model.graph.tensors[t].name for t in self.model.graph.outputs]
        return all(np.array_equal(by_name[n], o.ravel()) for n, o in zip(names, self.outputs, strict=True))


@cache
def subject(name: str) -> Subject:
    model = read(MODELS[name]())
    options = replace(OPTIONS, input=input_mode(INPUTS.get(name, "arena")))
    planned = pipeline.make_plan(pipeline.understand(model.graph), options)
    assert planned is not None
    rng = np.random.default_rng(9)
    inputs = [rng.integers(-128, 128, model.graph.tensors[t].shape, np.int8) for t in model.graph.inputs]
    expected = host_model.run_model(model.graph, [values[None] for values in inputs], 1)
    return Subject(model, planned, inputs, expected, options)


@pytest.fixture(params=MODELS)
def real(request: pytest.FixtureRequest) -> Subject:
    return subject(request.param)


# ---- damage that is always wrong ----


Mutants = Iterator[tuple[str, Plan]]


def with_buffer(plan: Plan, i: int, buffer: Buffer) -> Plan:
    return replace(plan, buffers=(*plan.buffers[:i], buffer, *plan.buffers[i + 1 :]))


def with_offset(plan: Plan, i: int, offset: int) -> Plan:
    return replace(plan, offsets=(*plan.offsets[:i], offset, *plan.offsets[i + 1 :]))


def with_step(plan: Plan, n: int, *steps: Block) -> Plan:
    return replace(plan, steps=(*plan.steps[:n], *steps, *plan.steps[n + 1 :]))


def blocks(plan: Plan) -> Iterator[tuple[int, Block]]:
    return ((n, step) for n, step in enumerate(plan.steps) if isinstance(step, Block))


def shallower_rings(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        if b.role is Role.RING and b.depth > 1:
            row = b.nbytes // b.depth
            yield f"ring {b.key}", with_buffer(plan, i, replace(b, nbytes=b.nbytes - row, depth=b.depth - 1))


def rings_of_another_size(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        if b.role is Role.RING:
            yield f"ring {b.key}", with_buffer(plan, i, replace(b, nbytes=b.nbytes - 1))


def smaller_buffers(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        yield f"{b.role} {b.key}", with_buffer(plan, i, replace(b, nbytes=b.nbytes - 1))


def missing_buffers(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        rest, offsets = (x[:i] + x[i + 1 :] for x in (plan.buffers, plan.offsets))
        yield f"{b.role} {b.key}", replace(plan, buffers=rest, offsets=offsets)


def wrong_firings(plan: Plan) -> Mutants:
    for n, block in blocks(plan):
        for change in (-1, 1):
            yield f"step {n} {change:+}", with_step(plan, n, replace(block, firings=block.firings + change))


def wrong_macs(plan: Plan) -> Mutants:
    for n, block in blocks(plan):
        for change in (-1, 1):
            yield f"step {n} {change:+}", with_step(plan, n, replace(block, macs=block.macs + change))


def missing_steps(plan: Plan) -> Mutants:
    for n, _ in blocks(plan):
        yield f"step {n}", with_step(plan, n)


def repeated_steps(plan: Plan) -> Mutants:
    for n, block in blocks(plan):
        yield f"step {n}", with_step(plan, n, block, block)


def swapped_steps(plan: Plan) -> Mutants:
    """All of these models' blocks depend on the one before."""
    for n in range(len(plan.steps) - 1):
        steps = list(plan.steps)
        steps[n], steps[n + 1] = steps[n + 1], steps[n]
        yield f"step {n}", replace(plan, steps=tuple(steps))


def missing_stages(plan: Plan) -> Mutants:
    for n, block in blocks(plan):
        for s in range(len(block.stages)):
            yield f"step {n}", with_step(plan, n, replace(block, stages=block.stages[:s] + block.stages[s + 1 :]))


def missing_sinks(plan: Plan) -> Mutants:
    for n, block in blocks(plan):
        if len(block.sinks) == 1:
            yield f"step {n}", with_step(plan, n, replace(block, sinks=()))


def other_ways_to_sum(plan: Plan) -> Mutants:
    """Summing up without sums, and reading a ring as if it were whole."""
    for n, block in blocks(plan):
        for s, stage in enumerate(block.stages):
            if stage.iterative:
                turned = replace(stage, iterative=False)
                stages = (*block.stages[:s], turned, *block.stages[s + 1 :])
                yield f"operator {stage.op}", with_step(plan, n, replace(block, stages=stages))


def lower_heads(plan: Plan) -> Mutants:
    yield "head", replace(plan, head=max(o + b.nbytes for b, o in plan.placed()) - 1)


def negative_offsets(plan: Plan) -> Mutants:
    for i, b in enumerate(plan.buffers):
        yield f"{b.role} {b.key}", with_offset(plan, i, -16)


def misaligned(plan: Plan) -> Mutants:
    """Even where the plan forgets that the buffer must be aligned: TFLM's tensors, sums, counters."""
    for i, (b, offset) in enumerate(plan.placed()):
        if b.align > 1:
            moved = with_offset(with_buffer(plan, i, replace(b, align=1)), i, offset + b.align // 2)
            yield f"{b.role} {b.key}", replace(moved, head=plan.head + 16)


ALWAYS_WRONG: tuple[Callable[[Plan], Mutants], ...] = (
    shallower_rings,
    rings_of_another_size,
    smaller_buffers,
    missing_buffers,
    wrong_firings,
    wrong_macs,
    missing_steps,
    repeated_steps,
    swapped_steps,
    missing_stages,
    missing_sinks,
    other_ways_to_sum,
    lower_heads,
    negative_offsets,
    misaligned,
)


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
@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 1 << 32))
def test_no_ring_is_deeper_than_it_must_be(number: int) -> None:
    """One row less is refused, whatever the graph."""
    s = random_sketch(number, tallest=40)
    outputs = s.unread()
    graph, parts = s.graph(*outputs), s.partition(*outputs)
    for _, mutant in shallower_rings(plan(graph, parts, Options(seconds=0.1))):
        with pytest.raises(PlanError, match="row"):
            check(mutant, graph, parts)


# ---- damage that may be harmless ----


def moved_buffers(plan: Plan) -> Mutants:
    for i, (b, offset) in enumerate(plan.placed()):
        for distance in (-16, -1, 1, 16):
            roomy = replace(plan, head=plan.head + max(0, distance))
            yield f"{b.role.value} {b.key} {distance:+}", with_offset(roomy, i, offset + distance)


def exchanged_buffers(plan: Plan) -> Mutants:
    for i in range(len(plan.buffers)):
        for k in range(i):
            offsets = list(plan.offsets)
            offsets[i], offsets[k] = offsets[k], offsets[i]
            yield f"buffers {i} and {k}", replace(plan, offsets=tuple(offsets))


def other_operand_orders(plan: Plan) -> Mutants:
    for n, block in blocks(plan):
        for s, stage in enumerate(block.stages):
            if len(stage.operands) > 1:
                stages = (*block.stages[:s], replace(stage, operands=stage.operands[::-1]), *block.stages[s + 1 :])
                yield f"operator {stage.op}", with_step(plan, n, replace(block, stages=stages))


def fewer_sinks(plan: Plan) -> Mutants:
    """Harmless where another sink demands all rows anyway."""
    for n, block in blocks(plan):
        if len(block.sinks) > 1:
            for i, sink in enumerate(block.sinks):
                rest = block.sinks[:i] + block.sinks[i + 1 :]
                yield f"operator {sink}", with_step(plan, n, replace(block, sinks=rest))


MAY_BE_HARMLESS = (moved_buffers, exchanged_buffers, other_operand_orders, fewer_sinks)


@pytest.mark.slow
def test_what_passes_runs_right(record_property: Callable[[str, object], None]) -> None:
    """Nothing that the checker lets through gives a wrong byte; most is refused."""
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


def test_nothing_is_refused_that_is_right(real: Subject) -> None:
    assert real.passes(real.planned.plan)
    assert real.runs_right(real.planned.plan)


def test_a_buffer_in_free_space_passes(real: Subject) -> None:
    """Counters, moved behind everything: harmless by construction."""
    plan = real.planned.plan
    for i, b in enumerate(plan.buffers):
        if b.role is Role.COUNTERS:
            top = -(-plan.head // 16) * 16
            assert real.passes(replace(with_offset(plan, i, top), head=top + b.nbytes))


# ---- what a refusal says ----


def refusal(s: Sketch, mutant: Plan, *outputs: TensorId) -> str:
    with pytest.raises(PlanError) as caught:
        check(mutant, s.graph(*outputs), s.partition(*outputs))
    return str(caught.value)


def single(s: Sketch, y: TensorId) -> Plan:
    return plan(s.graph(y), s.partition(y), Options(seconds=0.2))


def test_a_lost_row_names_operator_firing_row_and_byte() -> None:
    s = Sketch()
    x = s.input(8, 1, 16)
    y = s.conv(x, 16)
    found = single(s, y)
    at = {b.key: i for i, b in enumerate(found.buffers) if b.role is Role.TENSOR}
    mutant = with_offset(replace(found, head=2 * found.head), at[y], found.offsets[at[x]])
    assert re.fullmatch(
        r"operator 0 CONV, firing 0, row 0 of tensor 0: byte 0 was overwritten or never written", refusal(s, mutant, y)
    )


def test_an_output_inside_the_row_that_it_replaces() -> None:
    """An in-place operator reads front to back: shifted up by a part of a row it would read what it wrote."""
    s = Sketch()
    x = s.input(8, 1, 32)
    y = s.relu(x)
    found = single(s, y)
    at = {b.key: i for i, b in enumerate(found.buffers) if b.role is Role.TENSOR}
    mutant = with_offset(replace(found, head=2 * found.head), at[y], found.offsets[at[x]] + 16)
    assert "operator 0 LOOKUP, firing 0" in refusal(s, mutant, y)
    assert "the output starts 16 bytes behind the start of tensor 0 that it replaces" in refusal(s, mutant, y)


def test_a_shallow_ring_names_the_row_that_is_gone() -> None:
    s, total = residual(9, (1, 16))
    found = single(s, total)
    what, mutant = next(shallower_rings(found))
    assert what.startswith("ring")
    assert re.match(r"operator \d+ \w+, firing \d+, row \d+ of tensor \d+: byte \d+", refusal(s, mutant, total))


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (wrong_firings, r"block 0 fires 8 times, the plan says [79]"),
        (wrong_macs, r"block 0 multiplies (\d+) times, the plan says (?!\1\b)\d+"),
        (missing_steps, r"the plan runs operators \[\], the graph has \[0\]"),
        (smaller_buffers, r"tensor 0 needs 128 bytes, the plan gives it 127"),
        (missing_buffers, r"no tensor buffer for 0"),
        (lower_heads, r"is misaligned or outside of the head of \d+ bytes"),
        (missing_stages, r"block 0 wants all rows of operator 0, which is not in it"),
    ],
)
def test_other_refusals_say_what_and_where(damage: Callable[[Plan], Mutants], text: str) -> None:
    s = Sketch()
    y = s.conv(s.input(8, 1, 16), 8)
    found = single(s, y)
    assert any(re.search(text, refusal(s, mutant, y)) for _, mutant in damage(found))


def test_tflm_s_tensors_start_at_multiples_of_sixteen() -> None:
    """Even in free space, and if the plan does not ask for it."""
    s = Sketch()
    y = s.conv(s.input(8, 1, 16), 8)
    found = single(s, y)
    (i,) = (i for i, b in enumerate(found.buffers) if b.key == y and b.role is Role.TENSOR)
    free = -(-found.head // 16) * 16
    moved = with_offset(with_buffer(found, i, replace(found.buffers[i], align=1)), i, free + 8)
    assert f"tensor {y} starts at {free + 8}, not at a multiple of 16" in refusal(s, replace(moved, head=free + 99), y)


def test_sums_and_counters_must_be_large_enough() -> None:
    s = Sketch()
    y = s.mean(s.conv(s.input(80, 4, 4), 4, kernel=1))
    found = single(s, y)
    assert any(isinstance(step, Block) and Stage(1, (0,), iterative=True) in step.stages for step in found.steps)
    for role in (Role.ACCUMULATOR, Role.COUNTERS):
        i = next(i for i, b in enumerate(found.buffers) if b.role is role)
        buffer = found.buffers[i]
        mutant = with_buffer(found, i, replace(buffer, nbytes=buffer.nbytes // 2))
        assert f"needs {buffer.nbytes} bytes, the plan gives it {buffer.nbytes // 2}" in refusal(s, mutant, y)


# ---- inputs that are not in the arena as a whole ----


@pytest.mark.parametrize("name", ["streamed", "streamed classifier"])
@pytest.mark.parametrize("role", [Role.RING, Role.COUNTERS])
def test_nothing_that_outlives_an_invoke_may_lie_where_rows_are_pushed(name: str, role: Role) -> None:
    """The caller writes there while the block waits."""
    real = subject(name)
    plan, frame = real.planned.plan, real.planned.partition.frame
    assert frame is not None
    pushed = plan.find(Role.TENSOR, frame.tensor)
    assert pushed is not None
    for i, b in enumerate(plan.buffers):
        if b.role is role and b.first == 0:
            moved = replace(with_offset(plan, i, pushed[1]), head=plan.head + b.nbytes)
            assert not real.passes(moved), f"{b.role} {b.key}"


@pytest.mark.parametrize("at", [-4, -1, 1, 4])
def test_nothing_is_outside_of_the_arena(at: int) -> None:
    s = Sketch()
    found = single(s, s.conv(s.input(8, 1, 16), 16))
    arena = Arena(found, {})
    arena.write_run(0, 0, 0, found.head)
    arena.read_run(0, 0, 0, found.head, "somebody")
    with pytest.raises(PlanError, match="outside of the arena"):
        arena.write_run(0, at, 0, found.head)


def test_a_stream_is_read_in_the_first_block_only() -> None:
    real = subject("streamed classifier")
    graph, frame = real.planned.understood.graph, real.planned.partition.frame
    replay = FrameReplay(Arena(real.planned.plan, {t: graph.tensors[t].nbytes for t in graph.tensors}), frame)
    replay.wait_for(1, "operator 0")
    replay.end_of_block()
    with pytest.raises(PlanError, match="operator 5 reads the streamed input, which passes by in the first block"):
        replay.wait_for(1, "operator 5")
