"""The reader accepts valid model files, and raises an error for each kind of invalid file."""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import QUICKLY, examples
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Net

from tflm_memopt.api import optimize
from tflm_memopt.errors import ModelError
from tflm_memopt.model import calls, writer
from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.model.reader import read


def small() -> Net:
    net = Net(seed=3)
    x = net.conv2d(net.input((1, 6, 6, 2)), 3, kernel=(3, 3), activation="RELU6")
    net.finished(net.softmax(net.fully_connected(x, 4)))
    return net


MODEL = writer.write(small().tree)


@pytest.mark.parametrize("number", [-1, 1])
def test_subgraphs_that_are_called_exist(number: int) -> None:
    net = Net()
    x = net.input((1, 4))
    y = net.op("CALL_ONCE", [x], [net.tensor((1, 4))], schema.CallOnceOptionsT(initSubgraphIndex=number))
    message = rf"subgraph {number} does not exist: the model has 1\n  at operator 0 CALL_ONCE"
    with pytest.raises(ModelError, match=message):
        read(net.model(y))


def _set(path: str, value: Any) -> Any:
    def change(net: Net) -> None:
        *steps, last = path.split(".")
        target: Any = net.tree
        for step in steps:
            target = target[int(step)] if step.isdigit() else getattr(target, step)
        setattr(target, last, value)

    return change


BROKEN = {
    "version": (_set("version", 2), "schema version 2 is not supported, only version 3"),
    "tensor of an operator": (
        _set("subgraphs.0.operators.1.inputs", np.array([99, 1], np.int32)),
        r"tensor 99 does not exist: the model has 8\n  at operator 1 FULLY_CONNECTED, inputs",
    ),
    "operator code": (
        _set("subgraphs.0.operators.2.opcodeIndex", 5),
        r"operator code 5 does not exist.*\n  at operator 2",
    ),
    "buffer": (_set("subgraphs.0.tensors.1.buffer", 44), r"buffer 44 does not exist.*\n  at tensor 1 't1'"),
    "shape": (
        _set("subgraphs.0.tensors.1.shape", np.array([3, 3, 3, 3], np.int32)),
        r"shape \[3, 3, 3, 3\] of INT8 needs 81 B, but its buffer has 54 B\n  at tensor 1 't1'",
    ),
    "huge shape": (
        _set("subgraphs.0.tensors.1.shape", np.array([2**31 - 1] * 4, np.int32)),
        r"of INT8 needs .* B, but its buffer has 54 B",
    ),
    "zero points": (
        _set("subgraphs.0.tensors.1.quantization.zeroPoint", np.array([0, 0], np.int64)),
        r"3 scales but 2 zero points\n  at tensor 1 't1'",
    ),
    "signature": (
        _set(
            "signatureDefs", [schema.SignatureDefT(signatureKey="s", inputs=[schema.TensorMapT("x", 20)], outputs=[])]
        ),
        r"tensor 20 does not exist.*\n  at signature 0 's'",
    ),
    "external weights": (_set("buffers.1.offset", 4096), r"outside of the flatbuffer\n  at buffer 1"),
    "order": (
        _set("subgraphs.0.operators.0.inputs", np.array([5, 1, 3], np.int32)),
        r"the operator reads a tensor that operator 1 writes later\n  at operator 0 CONV_2D, tensor 5 't5'",
    ),
    "two writers": (
        _set("subgraphs.0.operators.2.outputs", np.array([2], np.int32)),
        r"the operator writes a tensor that already has a value\n  at operator 2 SOFTMAX, tensor 2 't2'",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_and_where(case: str) -> None:
    change, message = BROKEN[case]
    net = small()
    change(net)
    with pytest.raises(ModelError, match=message) as caught:
        read(writer.write(net.tree))
    assert caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 B are too short for a model"),
        (b"TFL3", "4 B are too short for a model"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "not a .tflite file: its identifier is"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "a Git LFS pointer"),
        (
            struct.pack("<I", 0xFFFFFFF0) + b"TFL3" + bytes(16),
            "damaged model: an offset points to byte 4,294,967,280 of 24",
        ),
        (struct.pack("<I", 8) + b"TFL3" + bytes(16), "damaged model: a table does not fit the file"),
    ],
)
def test_what_is_no_model(data: bytes, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        read(data)


def test_every_truncation_is_noticed() -> None:
    for length in range(0, len(MODEL) - 16, 7):
        with pytest.raises(ModelError):
            read(MODEL[:length])


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(8, len(MODEL) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_damage_is_an_error_or_harmless_but_never_a_crash(damage: list[tuple[int, int]]) -> None:
    data = bytearray(MODEL)
    for position, value in damage:
        data[position] = value
    try:
        model = read(bytes(data))
    except ModelError:
        return
    read(writer.write(model.tree))


def graphs(*others: Sequence[int]) -> list[Graph]:
    return [
        Graph({}, tuple(choice(k, *called[k : k + 2]) for k in range(0, len(called), 2)), (), ()) for called in others
    ]


def choice(index: int, then: int, otherwise: int) -> Op:
    return Op(index, "IF", (), (), {"thenSubgraphIndex": then, "elseSubgraphIndex": otherwise})


def test_a_scalar_may_have_no_shape() -> None:
    net = small()
    scalar = net.input((), dtype="INT32")
    net.graph.outputs.append(net.input((), dtype="FLOAT32"))
    for tensor in (net.graph.tensors[scalar], net.graph.tensors[net.graph.outputs[-1]]):
        tensor.shape = None
    data = writer.write(net.tree)
    assert schema.Model.GetRootAs(data, 0).Subgraphs(0).Tensors(scalar).ShapeIsNone()
    assert read(data).graph.tensors[scalar].shape == ()
    made = optimize(data, effort=QUICKLY)
    assert made.report.changed
    after = read(made.model).graph
    assert [after.tensors[t].shape for t in after.inputs] == [(1, 6, 6, 2), (), ()]


def test_subgraphs_may_call_others() -> None:
    calls.check(graphs((3, 1), (2, 3), (), (2, 2)))


@pytest.mark.parametrize("others", [[(0, 1), ()], [(1, 1), (2, 2), (1, 1)], [(), (1, 1)]])
def test_without_an_end(others: Sequence[Sequence[int]]) -> None:
    first = min(k for k, called in enumerate(others) if called)
    with pytest.raises(
        ModelError, match=f"the subgraph calls itself, or a subgraph that calls itself\n  at subgraph {first}"
    ):
        calls.check(graphs(*others))
