"""The checker's refusals state the error and its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from unit.plan.damage import (
    Mutants,
    lower_heads,
    missing_buffers,
    missing_stages,
    missing_steps,
    smaller_buffers,
    with_buffer,
    with_offset,
    wrong_iterations,
    wrong_macs,
)
from unit.plan.sketch import Sketch

from tflm_memopt.check.checker import check
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.plan import Plan, Role
from tflm_memopt.plan.planner import Options, plan


def refusal(s: Sketch, mutant: Plan, *outputs: TensorId) -> str:
    with pytest.raises(PlanError) as caught:
        check(mutant, s.row_graph(*outputs))
    return str(caught.value)


def single(s: Sketch, y: TensorId) -> Plan:
    return plan(s.row_graph(y), Options(seconds=0.2))


def test_a_lost_row_names_operator_iteration_row_and_byte() -> None:
    s = Sketch()
    x = s.input(8, 1, 16)
    y = s.conv(x, 16)
    found = single(s, y)
    at = {b.key: i for i, b in enumerate(found.buffers) if b.role is Role.TENSOR}
    mutant = with_offset(replace(found, head=2 * found.head), at[y], found.offsets[at[x]])
    assert re.fullmatch(
        r"operator 0 CONV, iteration 0, row 0 of tensor 0: byte 0 was overwritten or never written",
        refusal(s, mutant, y),
    )


def test_an_output_inside_the_row_that_it_replaces() -> None:
    """An in-place operator reads forwards: shifted up by a part of a row, it would read its own output."""
    s = Sketch()
    x = s.input(8, 1, 32)
    y = s.relu(x)
    found = single(s, y)
    at = {b.key: i for i, b in enumerate(found.buffers) if b.role is Role.TENSOR}
    mutant = with_offset(replace(found, head=2 * found.head), at[y], found.offsets[at[x]] + 16)
    assert "operator 0 LOOKUP, iteration 0" in refusal(s, mutant, y)
    assert "the output starts 16 bytes after the start of tensor 0 that it replaces" in refusal(s, mutant, y)


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (wrong_iterations, r"group 0 runs 8 iterations, the plan says [79]"),
        (wrong_macs, r"group 0 multiplies (\d+) times, the plan says (?!\1\b)\d+"),
        (missing_steps, r"the plan runs operators \[\], but the graph has \[0\]"),
        (smaller_buffers, r"tensor 0 needs 128 bytes, but has 127 in the plan"),
        (missing_buffers, r"no tensor buffer for 0"),
        (lower_heads, r"is misaligned or outside of the head of \d+ bytes"),
        (missing_stages, r"group 0: its loops run operator 0 of 0"),
    ],
)
def test_other_refusals_say_what_and_where(damage: Callable[[Plan], Mutants], text: str) -> None:
    s = Sketch()
    y = s.conv(s.input(8, 1, 16), 8)
    found = single(s, y)
    assert any(re.search(text, refusal(s, mutant, y)) for _, mutant in damage(found))


def test_tflm_s_tensors_start_at_multiples_of_sixteen() -> None:
    """Addresses in free space are checked too, even if the plan does not request alignment."""
    s = Sketch()
    y = s.conv(s.input(8, 1, 16), 8)
    found = single(s, y)
    (i,) = (i for i, b in enumerate(found.buffers) if b.key == y and b.role is Role.TENSOR)
    free = -(-found.head // 16) * 16
    moved = with_offset(with_buffer(found, i, replace(found.buffers[i], align=1)), i, free + 8)
    assert f"tensor {y} starts at {free + 8}, not at a multiple of 16" in refusal(s, replace(moved, head=free + 99), y)
