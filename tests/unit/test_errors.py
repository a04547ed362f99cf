"""The shortest way to each error that no other test meets on its way."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net
from moving import concatenation
from tflm.region_model import program, region_model
from unit.plan.sketch import Sketch

import tflm_memopt
from tflm_memopt.check.checker import check
from tflm_memopt.cli import keras
from tflm_memopt.cli.keras import FloatModel
from tflm_memopt.convert import pipeline
from tflm_memopt.emit import library
from tflm_memopt.errors import MemoptError
from tflm_memopt.model import writer
from tflm_memopt.model.graph import Graph, Op, Tensor
from tflm_memopt.model.interface import Change, Format
from tflm_memopt.model.reader import read
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.plan.firing.turned import as_counted
from tflm_memopt.plan.plan import Block, Plan
from tflm_memopt.plan.planner import Options, plan
from tflm_memopt.rowgraph.graph import RowGraph
from tflm_memopt.runtime import convert, host, host_model, native, regions, stimuli, wheel
from tflm_memopt.runtime.verify import sample

PATHS: list[Callable[[], object]] = []


def path(way: Callable[[], object]) -> Callable[[], object]:
    """Its name is the error's code."""
    PATHS.append(way)
    return way


@pytest.mark.parametrize("way", PATHS, ids=lambda way: way.__name__)
def test_the_error_is_raised(way: Callable[[], object]) -> None:
    with pytest.raises(MemoptError) as raised:
        way()
    assert way.__name__ in (raised.value.code, getattr(raised.value.__cause__, "code", ""))


# ---- models ----


def small() -> Net:
    net = Net(1)
    net.graph.outputs = [net.conv2d(net.input((1, 4, 4, 2)), 2)]
    return net


@path
def model_unreadable() -> object:
    """A vector inside of an operator's options ends beyond the file."""
    net = Net(1)
    data = bytearray(net.model(net.reshape(net.input((1, 4, 4, 2)), (1, 32))))
    table = schema.Model.GetRootAs(data).Subgraphs(0).Operators(0).BuiltinOptions()
    assert table is not None
    options = schema.ReshapeOptions()
    options.Init(table.Bytes, table.Pos)
    size_at = options._tab.Vector(options._tab.Offset(4)) - 4
    data[size_at : size_at + 4] = struct.pack("<I", 1 << 28)
    return read(bytes(data))


@path
def unknown_options() -> object:
    net = small()
    net.graph.operators[0].builtinOptionsType, net.graph.operators[0].builtinOptions = 255, None
    return read(writer.write(net.tree))


@path
def external_options() -> object:
    net = small()
    net.graph.operators[0].largeCustomOptionsOffset = 64
    return read(writer.write(net.tree))


@path
def no_program() -> object:
    return regions.region_of(Graph({}, (), (), ()), Op(0, "CUSTOM", (), (), {}))


# ---- what runs ----


@path
def input_not_drawn() -> object:
    words = Tensor(0, "words", (1, 4), "STRING")
    return stimuli.stimuli(Graph({0: words}, (), (0,), ()), [words], 1, seed=0)


@path
def no_sample() -> object:
    """A rewritten model whose outputs are others."""
    return sample(region_model(), region_model(program(relu_from=1)))


@path
def only_tflm() -> object:
    net = Net(1)
    x = net.input((1, 4))
    data = net.model(net.op("FLOOR_DIV", [x, x], [net.tensor((1, 4))], schema.FloorDivOptionsT()))
    return host_model.run_model(read(data).graph, [np.ones((1, 1, 4), np.int8)], 1)


@path
def wrote_outside() -> object:
    """No kernel does, but the guard would say so: kernels/guard_catches.c."""
    fake = SimpleNamespace(tmo_run_guarded=lambda *_: host.GUARD_VIOLATION)
    with mock.patch.object(host, "_library", return_value=fake):
        model = read(region_model())
        (region,) = regions.regions(model)
        return host.run_guarded(region.program, regions.placement(model, region), [np.zeros(256, np.int8)], [64])


@path
def no_library() -> object:
    return native.native_library("tmo_nothing")


@path
def cannot_load() -> object:
    with mock.patch.object(wheel, "native_library", return_value=Path("/nowhere/shim.so")):
        return wheel._runtime.__wrapped__()


@path
def no_sources() -> object:
    with mock.patch.object(library, "PLACES", (Path("/nowhere"),)):
        return library.folder()


# ---- interfaces ----


def _change(before: Format, after: Format) -> Change:
    return Change(0, "x", before, after)


@path
def no_scale() -> object:
    return convert.preimage(_change(Format("FLOAT32"), Format("INT8")))


@path
def no_way_back() -> object:
    return convert.preimage(_change(Format("INT16", 0.5, 0), Format("INT8", 0.5, 0)))


@path
def not_invertible() -> object:
    return convert.preimage(_change(Format("UINT8", 0.5, 0), Format("INT8", 1.0, 0)))


# ---- plans ----


def _sketch(width: int = 4) -> tuple[Plan, RowGraph]:
    s = Sketch()
    y = s.conv(s.input(8, 1, width), 4)
    graph = s.row_graph(y)
    return plan(graph, Options(seconds=0.1)), graph


@path
def plan_alignment() -> object:
    data = writer.write(small().tree)
    saved = tflm_memopt.optimize(data, op_per="block").plan
    assert saved is not None
    document = saved.to_json()
    document["buffers"][0]["offset"] += 1
    return tflm_memopt.optimize(data, op_per="block", plan=document)


@path
def plan_turned() -> object:
    """A plan of another operator: which rows this one reads is a table."""
    net = Net(1)
    model = read(net.model(concatenation(net, [net.input((1, 4, 2, 3)), net.input((1, 2, 2, 3))], 1)))
    (op,) = pipeline.annotate(model.graph).support.values()
    block = next(step for step in _sketch()[0].steps if isinstance(step, Block))
    assert isinstance(op, RowOp)
    return as_counted(op, replace(block, turned=True))


@path
def plan_width() -> object:
    with mock.patch("tflm_memopt.check.checker.MAX_IO", 1):
        return check(*_sketch())


# ---- Keras ----


def _float_model(**attributes: object) -> FloatModel:
    """As after loading; TensorFlow itself is for test_keras.py."""
    model = FloatModel.__new__(FloatModel)
    vars(model).update({"names": ("x",), "shapes": [(2,)], **attributes})
    return model


@path
def int8_does_not_run() -> object:
    model = _float_model(scores=lambda inputs: np.zeros((1, 2)))
    net = Net(1)
    x = net.input((1, 2))
    y = net.op("CUSTOM", [x], [net.tensor((1, 2))], custom_code="nobody knows it")
    data = net.model(y)
    return keras.accuracy(model, data, data, [np.zeros((1, 2))], np.zeros(1))


@path
def not_convertible() -> object:
    """The converter raises what it likes."""
    tf = mock.MagicMock()
    tf.lite.TFLiteConverter.from_concrete_functions.return_value.convert.side_effect = RuntimeError("no such layer")
    return _float_model(_tf=tf, _call=None, _graph=None).to_int8([np.zeros((3, 2))])
