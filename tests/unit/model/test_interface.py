"""Test the comparison of two models' inputs and outputs."""

import json
from dataclasses import replace

import pytest

from tflm_memopt.errors import InterfaceError
from tflm_memopt.model.graph import Graph, Quantization, Tensor
from tflm_memopt.model.interface import Change, Changes, Format, changes_of, compare

FLOAT = Tensor(0, "x", (1, 4), "FLOAT32")
INT8 = Tensor(0, "x", (1, 4), "INT8", Quantization((0.25,), (3,)))
OUT = Tensor(1, "y", (1, 2), "INT8", Quantization((1.0,), (0,)))
CHANGE = Change(0, "x", Format("FLOAT32"), Format("INT8", 0.25, 3))


def graph(*inputs: Tensor, output: Tensor = OUT) -> Graph:
    tensors = {i: replace(t, id=i) for i, t in enumerate((*inputs, output))}
    return Graph(tensors, (), tuple(range(len(inputs))), (len(inputs),))


def test_a_record_survives_the_metadata() -> None:
    changes = Changes(inputs=(CHANGE,), outputs=(Change(1, "y", Format("UINT8", 1.5, 130), Format("INT8", 1.5, 2)),))
    assert changes_of(json.dumps({"interface": changes.to_json()}).encode()) == changes
    assert changes_of(None) == changes_of(b"{}") == Changes()


@pytest.mark.parametrize("data", [b"\xff", b"[]", b'{"interface": {"inputs": [{}]}}', b'{"interface": {"inputs": 3}}'])
def test_a_damaged_record_is_an_error(data: bytes) -> None:
    with pytest.raises(InterfaceError, match="is unreadable"):
        changes_of(data)


@pytest.mark.parametrize(
    ("rewritten", "changes", "says"),
    [
        (graph(INT8), Changes(), "FLOAT32 became INT8 scale 0.25 zero point 3\n  at input 0 'x'"),
        (graph(FLOAT, FLOAT), Changes(), "1 inputs became 2"),
        (graph(replace(FLOAT, shape=(4,))), Changes(), r"shape \[1, 4\] became \[4\]"),
        (graph(replace(FLOAT, name="z")), Changes(), "the name 'x' became 'z'"),
        (graph(FLOAT, output=replace(OUT, quantization=None)), Changes(), "became INT8\n  at output 0 'y'"),
        (graph(FLOAT), Changes(inputs=(CHANGE,)), "a recorded change to INT8 scale 0.25 zero point 3 became FLOAT32"),
        (graph(INT8), Changes(inputs=(replace(CHANGE, name="w"),)), "a recorded change of 'w'"),
        (graph(INT8), Changes(inputs=(CHANGE, replace(CHANGE, index=1))), "a recorded change of input 1"),
    ],
)
def test_anything_else_is_an_error_that_says_what_and_where(rewritten: Graph, changes: Changes, says: str) -> None:
    with pytest.raises(InterfaceError, match=says):
        compare(graph(FLOAT), rewritten, changes)
