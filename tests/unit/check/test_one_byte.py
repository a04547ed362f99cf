"""The checker finds one wrong byte anywhere, in small plans that are damaged by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from unit.check.test_refusals import refusal, single
from unit.plan.damage import with_buffer, with_offset
from unit.plan.sketch import Sketch

from tflm_memopt.check import checker
from tflm_memopt.check.arena import TaggedArena
from tflm_memopt.check.lives import BEFORE, LiveRanges, apart, pieces
from tflm_memopt.check.nest import check_nest, run_order, steps_of
from tflm_memopt.check.packed import kernel_scratch
from tflm_memopt.check.source import SourceReplay
from tflm_memopt.errors import PlanError
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.ops.packing import Packing
from tflm_memopt.ops.rowop import Rows, Window
from tflm_memopt.plan.iteration.planned import looped, trace_of
from tflm_memopt.plan.nest import LoopNest
from tflm_memopt.plan.plan import Buffer, Group, Plan, Role, Stage
from tflm_memopt.plan.planner import Options, plan
from tflm_memopt.rowgraph.graph import InputSource
from tflm_memopt.rowgraph.regions import partition

ROW = 8
ROWS = 4


def arena() -> TaggedArena:
    """A tensor of a few rows, and scratch after it."""
    buffers = (Buffer(Role.TENSOR, 0, ROWS * ROW, 0, 1), Buffer(Role.SCRATCH, 0, ROW, 0, 1))
    return TaggedArena(Plan((), buffers, (0, ROWS * ROW), (ROWS + 1) * ROW, 0, proven=False), {0: ROWS * ROW})


def place(found: Plan, role: Role, key: int, offset: int, **buffer: int) -> Plan:
    """The plan with a buffer at another address or of another size."""
    (i,) = (i for i, b in enumerate(found.buffers) if (b.role, b.key) == (role, key))
    moved = with_offset(with_buffer(found, i, replace(found.buffers[i], **buffer)), i, offset)  # type: ignore[arg-type]
    return replace(moved, head=max(found.head, offset + moved.buffers[i].nbytes))


def start(found: Plan, role: Role, key: int) -> int:
    """Address of the buffer."""
    buffer = found.find(role, key)
    assert buffer is not None
    return buffer[1]


@pytest.mark.parametrize("byte", range(ROW))
def test_any_byte_of_a_row(byte: int) -> None:
    a = arena()
    for row in range(ROWS):
        a.write(0, row, ROW)
    a.read_rows(0, 0, ROWS, ROW, "somebody")
    a.write_run(1, ROW + byte, 0, 1)
    for read in (lambda: a.read(0, 1, ROW, "somebody"), lambda: a.read_rows(0, 0, ROWS, ROW, "somebody")):
        with pytest.raises(PlanError, match=f"row 1 of tensor 0: byte {byte} was overwritten"):
            read()


def test_no_row_behind_the_end_of_its_tensor() -> None:
    with pytest.raises(PlanError, match=f"row {ROWS} of {ROW} bytes is outside of tensor 0"):
        arena().span(0, ROWS, ROW)


def test_a_scratch_that_is_too_small() -> None:
    with pytest.raises(PlanError, match=f"scratch 0 needs {ROW + 1} bytes, but has {ROW} in the plan"):
        arena().write_scratch(0, ROW + 1)


def test_an_output_that_a_later_operator_overwrites() -> None:
    s = Sketch()
    x = s.input(8, 1, 16)
    first, second = s.conv(x, 16), s.conv(x, 16)
    found = plan(s.row_graph(first, second), Options(seconds=0.2))
    mutant = place(found, Role.TENSOR, second, start(found, Role.TENSOR, first))
    assert "the model's output, tensor" in refusal(s, mutant, first, second)


def test_a_builtin_operator_s_output_on_its_input() -> None:
    s = Sketch()
    x = s.input(8, 1, 16)
    y = s.conv(s.conv(x, 16, kernel=1), 16)
    graph = partition(s.graph(y), {0: Unsupported("test", "because", "", ""), 1: s.ops[1]})
    found = plan(graph, Options(seconds=0.2))
    mutant = place(found, Role.TENSOR, s.ops[0].output, start(found, Role.TENSOR, x))
    with pytest.raises(PlanError, match=r"^builtin operator 0, tensor 0: byte 0"):
        checker.check(mutant, graph)


def test_an_operator_of_more_tensors_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    s = Sketch()
    y = s.conv(s.input(8, 1, 16), 8)
    monkeypatch.setattr(checker, "MAX_IO", 1)
    assert "region 0 has 2 inputs and outputs, more than 1" in refusal(s, single(s, y), y)


def test_a_repeated_pixel_that_the_output_overwrites() -> None:
    """No other read of the pixel exists; only the order within the row is wrong."""
    s = Sketch()
    row, pixel = s.input(1, 4, 16), s.input(1, 1, 16)
    y = s.add(row, pixel)
    found = single(s, y)
    apart_ = place(place(found, Role.TENSOR, pixel, 256), Role.TENSOR, y, 256)
    assert "the output starts 0 bytes after the start of tensor 1 that it replaces" in refusal(s, apart_, y)


def test_sums_that_are_overwritten_between_two_iterations() -> None:
    """The second slot of a rolling buffer overwrites them; the first iteration does not touch it."""
    s = Sketch()
    y = s.mean(s.conv(s.input(80, 4, 4), 32, kernel=1))
    found, inner = plan(s.row_graph(y), Options(seconds=0.2, tiles=None)), s.ops[0].output
    (rolling_buffer,) = (b for b in found.buffers if b.role is Role.ROLLING_BUFFER)
    free = -(-found.head // 16) * 16
    roomy = place(found, Role.ROLLING_BUFFER, inner, free, nbytes=2 * rolling_buffer.nbytes, depth=2)
    assert "accumulator" in refusal(s, place(roomy, Role.ACCUMULATOR, y, free + rolling_buffer.nbytes), y)


def test_counters_that_the_output_overwrites() -> None:
    s = Sketch()
    y = s.conv(s.input(8, 1, 16), 8)
    found = single(s, y)
    assert "counters 0: byte 0" in refusal(s, place(found, Role.COUNTERS, 0, start(found, Role.TENSOR, y)), y)


def test_a_reversed_group_reads_the_mirror_image_of_its_windows() -> None:
    """A stride of two pads below instead of above."""
    s = Sketch()
    y = s.conv(s.input(8, 1, 16), 8, stride=2)
    found, op = single(s, y), s.ops[0]
    (group,) = (step for step in found.steps if isinstance(step, Group))
    read = [op.rows_read(0, row) for row in range(op.writes.h)]
    for is_reversed, expected in ((False, read), (True, [(8 - end, 8 - first) for first, end in reversed(read)])):
        step = steps_of(replace(group, is_reversed=is_reversed), {0: op})[0]
        window = step.windows[0]
        assert [*zip(window.top.tolist(), window.bottom.tolist(), strict=True)] == expected
    assert read != [(8 - end, 8 - first) for first, end in reversed(read)]


def test_a_row_group_that_says_that_it_is_tiled() -> None:
    """A group that runs row by row must not claim to be tiled, although nothing reads the flag."""
    s = Sketch()
    y = s.conv(s.input(8, 1, 16), 8)
    (group,) = (step for step in single(s, y).steps if isinstance(step, Group))
    stages = tuple(replace(stage, nest=LoopNest(2, 2, 2)) for stage in group.stages)
    step = steps_of(replace(group, stages=stages), {0: s.ops[0]})[0]
    with pytest.raises(PlanError, match="operator 0 of a row group runs as LoopNest") as refused:
        check_nest(step)
    assert "of a row group runs as" in str(refused.value)


def test_a_row_is_one_unit_however_wide_its_reader_sees_it() -> None:
    s = Sketch()
    y = s.relu(s.conv(s.input(8, 1, 4), 4))
    seen = Rows(8, 4, 1)
    s.rows[y], s.ops[1] = seen, replace(s.ops[1], reads=(seen,), writes=seen)
    group = Group(0, (Stage(0, (0,)), Stage(1, (0,))), (1,), 16, 0)
    group = replace(group, loops=looped(trace_of(group, dict(enumerate(s.ops)))))
    steps = steps_of(group, dict(enumerate(s.ops)))
    assert [step.stage.op for step in run_order(0, group, steps)] == [0, 1] * 8


def test_rows_that_nobody_asks_for_are_pushed_when_the_group_is_done() -> None:
    replay = SourceReplay(arena(), InputSource(0, 2 * ROWS, ROW, ROWS))
    replay.wait_for(1, "operator 0")
    assert replay.pushed == ROWS
    replay.end_of_group()
    assert replay.pushed == 2 * ROWS


def lives(*moments: tuple[int, int]) -> LiveRanges:
    """Live ranges at the same four bytes, one for each pair of moments."""
    at, end, written, read = zip(*((0, 4, *both) for both in moments), strict=True)
    return LiveRanges(*map(np.array, (at, end, written, read)), np.arange(len(at)))


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        ([(1, 4), (5, 9)], True),
        ([(1, 5), (5, 9)], False),
        ([(5, 9), (1, 5)], False),
        ([(BEFORE, 3), (BEFORE, 20)], True),
        ([(BEFORE, 20), (BEFORE, 3), (10, 12)], False),
        ([(BEFORE, 9), (BEFORE, 3), (10, 12)], True),
    ],
)
def test_lives_at_one_place(moments: list[tuple[int, int]], expected: bool) -> None:
    """Both moments belong to a range; only ranges that meet conflict."""
    assert apart(pieces(lives(*moments))) is expected


KERNELS = ((1, 1), (3, 1), (3, 3))
PACKINGS = (Packing.DSP_CONV, Packing.MVE_CONV, Packing.DSP_DENSE, Packing.DSP_DEPTHWISE, Packing.MVE_DEPTHWISE,
            Packing.RVV_CONV, Packing.RVV_DEPTHWISE, Packing.ESP_CONV, Packing.ESP_DEPTHWISE)  # fmt: skip


@pytest.mark.parametrize("packing", PACKINGS, ids=lambda p: p.name)
def test_the_scratch_of_packed_kernels_is_what_operators_say(packing: Packing) -> None:
    """Two independent formulas for the scratch agree."""
    s = Sketch()
    s.conv(s.input(8, 8, 4), 8)
    for c, out, kernel, columns in itertools.product((1, 3, 8, 16, 20), (2, 8), KERNELS, (1, 2, 3, 5, 7)):
        op = replace(
            s.ops[0], reads=(Rows(8, 8, c),), writes=Rows(8, columns, out), window=Window(*kernel), packing=packing
        )
        assert kernel_scratch(Stage(0, (0,)), op, columns) == op.scratch_bytes(columns), (c, out, kernel, columns)
