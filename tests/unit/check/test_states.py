"""The checker refuses every plan that would lose or overwrite data between two inferences."""

from dataclasses import replace
from functools import cache
from typing import Any

import memories
import pytest
import streaming
from models import Net
from planning import plan_of

from tflm_memopt.check.checker import check
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import PlanError
from tflm_memopt.model.reader import read
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.plan import Group, Plan
from tflm_memopt.plan.planner import plan
from tflm_memopt.rowgraph.graph import RowGraph
from tflm_memopt.rowgraph.inputs import SLIDING, InputMode

QUICK = ConversionOptions(seconds=0, effort=0.1, tiles=None)


@cache
def planned() -> Planned:
    return plan_of(read(streaming.mixed()).graph, QUICK)


def changed(number: int, **fields: Any) -> Plan:
    states = list(planned().plan.states)
    states[number] = replace(states[number], **fields)
    return replace(planned().plan, states=tuple(states))


def refused(found: Plan, graph: RowGraph | None = None) -> str:
    with pytest.raises(PlanError) as caught:
        check(found, graph or planned().graph)
    return str(caught.value)


STATES = range(3)


OFF_BY_ONE = [
    ("depth", -1, "after a reset finds"),
    ("advance", -1, "after a reset finds"),
    ("advance", 1, "after a reset finds"),
    ("fill", 1, "initial value"),
    ("offset", -1, "where another state ends"),
]


@pytest.mark.parametrize("number", STATES)
@pytest.mark.parametrize(("field", "step", "why"), OFF_BY_ONE)
def test_a_field_of_a_state_that_is_off_by_one(number: int, field: str, step: int, why: str) -> None:
    value = getattr(planned().plan.states[number], field) + step
    assert why in refused(changed(number, **{field: value}))


def test_a_forgotten_reset() -> None:
    """A reset clears only the rolling buffers in the plan's list of states."""
    assert "the plan has states" in refused(replace(planned().plan, states=planned().plan.states[1:]))


def test_rows_that_are_kept_before_they_are_read() -> None:
    parts = planned().graph
    hasty = {
        key: replace(op, inputs=op.inputs[:1], reads=op.reads[:1], access=op.access[:1]) if op.state_write else op
        for key, op in parts.ops.items()
    }
    forgetful = replace(parts, ops=hasty)
    assert "after a reset finds" in refused(plan(forgetful, QUICK), forgetful)


def test_cells_in_a_rolling_buffer() -> None:
    done = recurrent()
    states = done.plan.states
    deeper = replace(done.plan, states=(*states[:-1], replace(states[-1], depth=2)))
    assert "is updated in place" in refused(deeper, done.graph)


@pytest.mark.parametrize("factor", [2, 3])
def test_a_state_that_is_read_as_an_operand_has_no_more_rows_than_the_operand(factor: int) -> None:
    done = slid("SAME")
    check(done.plan, done.graph)
    read_whole = {t for op in done.graph.ops.values() if not op.updates for t in op.inputs}
    end = max(state.offset + state.nbytes for state in done.plan.states)
    for number, state in enumerate(done.plan.states):
        if state.tensor in read_whole:
            states = [*done.plan.states]
            states[number] = replace(state, depth=factor * state.depth, offset=end + 2)
            assert "after a reset finds" in refused(replace(done.plan, states=tuple(states)), done.graph)


@pytest.mark.parametrize("changes", [{"advance": 0}, {"advance": 2}, {"fill": 1}, {"row_bytes": 1}])
def test_another_counter_of_a_sliding_input(changes: dict[str, int]) -> None:
    done = slid("VALID")
    *states, counter = done.plan.states
    other = replace(done.plan, states=(*states, replace(counter, **changes)))
    assert "the counter of the sliding input" in refused(other, done.graph)
    assert "is not the last state" in refused(replace(done.plan, states=(counter, *states)), done.graph)


@cache
def slid(padding: str) -> Planned:
    net = Net()
    x = net.conv2d(net.input((1, 18, 2, 3)), 4, kernel=(3, 1), padding=padding)
    options = replace(QUICK, input=InputMode(SLIDING, 2))
    return plan_of(read(net.model(net.fully_connected(x, 2))).graph, options)


@cache
def recurrent() -> Planned:
    return plan_of(read(memories.lstm_network()).graph, QUICK)


@pytest.mark.parametrize("how", [{"is_reversed": True}, {"stripes": 1}])
def test_groups_in_which_states_do_not_run(how: dict[str, Any]) -> None:
    steps = planned().plan.steps
    for number, step in enumerate(steps):
        if isinstance(step, Group) and any(planned().graph.ops[s.op].stateful for s in step.stages):
            other = replace(planned().plan, steps=(*steps[:number], replace(step, **how), *steps[number + 1 :]))
            assert "uses a state" in refused(other)
