"""Recurrent layers that a converter wrote as WHILE loops are recognised, named and explained."""

from __future__ import annotations

import moving
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net
from unit.analysis.arena_zoo import with_subgraphs

import tflm_memopt

STATE = (1, 1)


def loop(net: Net, x: int, first: int) -> int:
    """Add a WHILE whose condition and body are subgraphs `first` and `first` + 1."""
    options = schema.WhileOptionsT(condSubgraphIndex=first, bodySubgraphIndex=first + 1)
    return net.op("WHILE", [x], [net.tensor(STATE)], options)


def looped(logistic: int, tanh: int, *, both: bool = False) -> bytes:
    """Build a model with a loop of a cell with these curves, in one direction or in both."""
    net = Net()
    x = net.input(STATE)
    y = loop(net, x, 1)
    if both:
        y = net.add(y, moving.reverse(net, loop(net, moving.reverse(net, x, [1]), 3), [1]))

    def condition() -> int:
        z = net.input(STATE)
        return net.op("LESS", [z, z], [net.tensor(STATE, "BOOL", None)])

    def body() -> int:
        z = net.fully_connected(net.input(STATE), STATE[1])
        for kind, count in (("LOGISTIC", logistic), ("TANH", tanh)):
            for _ in range(count):
                z = net.unary(kind, z, out=net.share(z))
        return z

    return with_subgraphs(net, y, *((condition, body) * (2 if both else 1)))


@pytest.mark.parametrize(
    ("cell", "both", "what", "hint"),
    [
        ((3, 2), False, "an LSTM as WHILE loop", "UNIDIRECTIONAL_SEQUENCE_LSTM"),
        ((2, 1), False, "a GRU as WHILE loop", "unroll=True"),
        ((0, 1), False, "an RNN as WHILE loop", "unroll=True"),
        ((2, 1), True, "2 GRUs as WHILE loops, in both directions", "unroll=True"),
    ],
)
def test_layers_are_named(cell: tuple[int, int], both: bool, what: str, hint: str) -> None:
    data = looped(*cell, both=both)
    diagnosis = tflm_memopt.inspect(data).diagnosis
    assert (diagnosis.kind, hint in diagnosis.advice) == ("subgraphs", True)
    assert what in diagnosis.what
    done = tflm_memopt.optimize(data)
    assert not done.report.changed
    assert what in str(done.report.why_unchanged) and hint in str(done.report.why_unchanged)


def test_other_loops_are_not() -> None:
    assert "WHILE loop" not in tflm_memopt.inspect(looped(1, 0)).diagnosis.what
