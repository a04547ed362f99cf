"""The checker finds one wrong byte anywhere, in small plans that are damaged by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from unit.plan.damage import with_buffer, with_offset
from unit.plan.sketch import Sketch

from tflm_memopt.check import checker
from tflm_memopt.check.arena import TaggedArena
from tflm_memopt.check.lives import BEFORE, LiveRanges, apart, pieces
from tflm_memopt.check.nest import steps_of
from tflm_memopt.errors import PlanError
from tflm_memopt.ops.opset import Unsupported
from tflm_memopt.plan.plan import Buffer, Group, Plan, Role
from tflm_memopt.plan.planner import Options, plan
from tflm_memopt.rowgraph.regions import partition

ROW = 8
ROWS = 4


def arena() -> TaggedArena:
    """Return an arena with a tensor of a few rows, and scratch after it."""
    buffers = (Buffer(Role.TENSOR, 0, ROWS * ROW, 0, 1), Buffer(Role.SCRATCH, 0, ROW, 0, 1))
    return TaggedArena(Plan((), buffers, (0, ROWS * ROW), (ROWS + 1) * ROW, 0, proven=False), {0: ROWS * ROW})


def place(found: Plan, role: Role, key: int, offset: int, **buffer: int) -> Plan:
    """Return the plan with a buffer at another address or of another size."""
    (i,) = (i for i, b in enumerate(found.buffers) if (b.role, b.key) == (role, key))
    moved = with_offset(with_buffer(found, i, replace(found.buffers[i], **buffer)), i, offset)  # type: ignore[arg-type]
    return replace(moved, head=max(found.head, offset + moved.buffers[i].nbytes))


def start(found: Plan, role: Role, key: int) -> int:
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


def test_a_builtin_operator_s_output_on_its_input() -> None:
    s = Sketch()
    x = s.input(8, 1, 16)
    y = s.conv(s.conv(x, 16, kernel=1), 16)
    graph = partition(s.graph(y), {0: Unsupported("test", "because", "", ""), 1: s.ops[1]})
    found = plan(graph, Options(seconds=0.2))
    mutant = place(found, Role.TENSOR, s.ops[0].output, start(found, Role.TENSOR, x))
    with pytest.raises(PlanError, match=r"^builtin operator 0, tensor 0: byte 0"):
        checker.check(mutant, graph)


def test_an_operator_that_the_plan_leaves_out() -> None:
    s = Sketch()
    y = s.conv(s.input(8, 1, 16), 8)
    found = plan(s.row_graph(y), Options(seconds=0.2))
    with pytest.raises(PlanError, match=r"the plan runs operators \[\], but the graph has \[0\]"):
        checker.check(replace(found, steps=()), s.row_graph(y))


def test_a_reversed_group_reads_the_mirror_image_of_its_windows() -> None:
    """With a stride of 2, the reversed group has its padding above its rows instead of below."""
    s = Sketch()
    y = s.conv(s.input(8, 1, 16), 8, stride=2)
    found, op = plan(s.row_graph(y), Options(seconds=0.2)), s.ops[0]
    (group,) = (step for step in found.steps if isinstance(step, Group))
    read = [op.rows_read(0, row) for row in range(op.writes.h)]
    for is_reversed, expected in ((False, read), (True, [(8 - end, 8 - first) for first, end in reversed(read)])):
        step = steps_of(replace(group, is_reversed=is_reversed), {0: op})[0]
        window = step.windows[0]
        assert [*zip(window.top.tolist(), window.bottom.tolist(), strict=True)] == expected
    assert read != [(8 - end, 8 - first) for first, end in reversed(read)]


def lives(*moments: tuple[int, int]) -> LiveRanges:
    """Return live ranges at the same four bytes, one for each pair of moments."""
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
    """Live ranges include the first and last moment, and two ranges with a common moment conflict."""
    assert apart(pieces(lives(*moments))) is expected
