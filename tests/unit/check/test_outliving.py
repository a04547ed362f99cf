"""The checker refuses operators that keep wrong rows for later inferences, or send wrong rows."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import memories
import pytest
from models import Net
from streaming import Streaming
from unit.check.test_reads import row_graph, with_op

from tflm_memopt.check.states import check_outliving
from tflm_memopt.errors import PlanError
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Access, Message, Move, Moves, RowOp
from tflm_memopt.rowgraph.graph import RowGraph


def streamed() -> RowGraph:
    net = Net(1)
    rows = Streaming(net, setup=False).window("a", net.input((1, 2, 1, 8), (0.05, 0)), 3)
    return row_graph(net, net.conv2d(rows, 6, kernel=(5, 1), stride=(2, 1), padding="VALID"))


def kept_and_wanted() -> RowGraph:
    """A state keeps rows of a RESHAPE's output, which is also an output of the model."""
    net = Net(1)
    x = net.reshape(net.fully_connected(net.input((1, 8)), 8), (1, 1, 1, 8))
    rows = Streaming(net, setup=False).window("a", x, 3)
    return row_graph(net, net.conv2d(rows, 6, kernel=(4, 1), padding="VALID"), x)


def remembering() -> RowGraph:
    net = Net(1)
    return row_graph(net, memories.svdf(net, net.input((1, 8)), 4, memory=6))


def recurrent() -> RowGraph:
    net = Net(1)
    return row_graph(net, memories.lstm(net, net.input((1, 5, 8), (0.05, 3)), 4))


def found(graph: RowGraph, of: Callable[[RowOp], object]) -> tuple[int, RowOp]:
    return next((key, op) for key, op in graph.ops.items() if of(op))


def older(**changes: int) -> Callable[[RowGraph], RowGraph]:
    def damaged(graph: RowGraph) -> RowGraph:
        key, op = found(graph, lambda op: op.older is not None)
        more = {name: getattr(op.window, name) + change for name, change in changes.items()}
        return with_op(graph, key, replace(op, window=replace(op.window, **more)))

    return damaged


def changed(wanted: Callable[[RowOp], Any], change: Callable[[RowOp], RowOp]) -> Callable[[RowGraph], RowGraph]:
    def damaged(graph: RowGraph) -> RowGraph:
        key, op = found(graph, wanted)
        return with_op(graph, key, change(op))

    return damaged


kept = partial(changed, lambda op: op.state_write)
stepped = partial(changed, lambda op: op.updates)
FAULTS = (
    (streamed, older(pad_top=2), "its last window ends at row -1 of 2 new rows"),
    (streamed, older(pad_top=1, kernel_h=1), "its window has 6 rows, but TFLM's has 5"),
    (remembering, older(pad_top=-1, kernel_h=-1), "its window has 5 rows, but TFLM's has 6"),
    (remembering, older(kernel_w=1), "other columns than TFLM's"),
    (streamed, older(pad_left=1), "other columns than TFLM's"),
    (streamed, older(dilation_w=1), "other columns than TFLM's"),
    (
        streamed,
        kept(lambda op: replace(op, access=(Access(op.access[0].add - 1), *op.access[1:]))),
        "it does not keep the last",
    ),
    (
        streamed,
        kept(lambda op: replace(op, moves=Moves((Move(0, 1, 0, 0, op.reads[0].row_bytes - 1),)))),
        "it does not keep rows as they are",
    ),
    (streamed, kept(lambda op: replace(op, inputs=(op.inputs[0] + 1, *op.inputs[1:]))), "it keeps another tensor"),
    (recurrent, stepped(lambda op: replace(op, access=(Access(1), *op.access[1:]))), "the steps in their order"),
    (recurrent, stepped(lambda op: replace(op, updates=op.updates[::-1])), "it updates other states"),
)


@pytest.mark.parametrize("made", [streamed, kept_and_wanted, remembering, recurrent])
def test_right_graphs_pass(made: Callable[[], RowGraph]) -> None:
    check_outliving(made())


@pytest.mark.parametrize(("made", "damaged", "says"), FAULTS)
def test_a_fault_is_refused(made: Callable[[], RowGraph], damaged: Callable[[RowGraph], RowGraph], says: str) -> None:
    with pytest.raises(PlanError, match=says):
        check_outliving(damaged(made()))


@pytest.mark.parametrize("kind", [Kind.SEND, Kind.RECEIVE])
def test_a_message_has_the_rows_in_their_order(kind: Kind) -> None:
    net = Net(1)
    graph = row_graph(net, net.unary("RELU", net.input((1, 4, 2, 3))))
    (key,), message = graph.ops, Message(0, 0, 0, 1)
    op = replace(graph.ops[key], kind=kind, message=message)
    check_outliving(with_op(graph, key, op))
    fewer = replace(op.reads[0], c=2)
    for wrong in (replace(op, access=(Access(1),)), replace(op, reads=(fewer,), writes=fewer)):
        with pytest.raises(PlanError, match="rows in their order"):
            check_outliving(with_op(graph, key, wrong))
