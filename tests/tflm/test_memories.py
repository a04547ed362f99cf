"""SVDF and LSTM have the same output bytes as in TFLM in each inference of a sequence, before and after resets."""

from collections.abc import Callable
from typing import Any

import memories
import numpy as np
import pytest
from models import Net
from moving import slice_
from recording import predict_recording
from stepping import STEPS, differing

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.ops.cells import SIGMOID
from tflm_memopt.runtime.wheel import interpreter
from tflm_memopt.tflm.arena import predict

WITH_VARIABLES = {"SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"}


@pytest.mark.slow
@pytest.mark.parametrize("build", [memories.svdf_network, memories.lstm_network])
def test_half_of_the_arena_for_a_thousand_steps(build: Callable[[], bytes]) -> None:
    data = build()
    done = tflm_memopt.optimize(data, seconds=0)
    assert not WITH_VARIABLES & {op.type for op in read(done.model).graph.ops}
    assert 2 * predict(done.model).total <= predict(data).total
    assert differing(data, done.model, STEPS, (1, 333, 334, 700)) == 0
    figures = predict_recording(done.model)
    assert interpreter(done.model, figures.min).invoke() == 0


CELLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "saturating": {"weights": 0.2},
    "limited": {"clip": 3.0, "weights": 0.1},
    "all-limited": {"clip": 0.02},
    "coarse": {"cells": 2.0**-3},
    "fine": {"cells": 2.0**-15},
    "shifted": {"hidden": (1 / 100, -28)},
    "time-major": {"time_major": True},
}


@pytest.mark.parametrize("how", CELLS.values(), ids=CELLS)
def test_cells(how: dict[str, Any]) -> None:
    net = Net(8)
    shape = (4, 1, 7) if how.get("time_major") else (1, 4, 7)
    data = net.model(memories.lstm(net, net.input(shape, (0.05, -9)), 5, **how))
    done = tflm_memopt.optimize(data, seconds=0)
    assert not WITH_VARIABLES & {op.type for op in read(done.model).graph.ops}
    assert differing(data, done.model, 30, (5, 17)) == 0


@pytest.mark.parametrize("reader", ["SLICE", "RELU", "CONV_2D"])
def test_an_lstm_whose_last_step_is_not_read(reader: str) -> None:
    """The last step of the LSTM must update the state, although no operator reads the step's output."""
    net = Net(3)
    y = net.reshape(memories.lstm(net, net.input((1, 6, 3), (0.05, 5)), 8), (1, 6, 1, 8))
    if reader == "CONV_2D":
        y = net.conv2d(y, 4, kernel=(3, 1), stride=(2, 1), padding="VALID")
    else:
        y = net.unary("RELU", y, out=net.affine(y)) if reader == "RELU" else y
        y = slice_(net, y, (0, 0, 0, 0), (1, 4, 1, 8))
    data = net.model(net.fully_connected(y, 3))
    done = tflm_memopt.optimize(data, effort=0.05, if_worthwhile=False)
    assert [kept.code for kept in done.report.kept_builtin] == ["last_step"]
    assert differing(data, done.model, 20, (5, 17)) == 0


@pytest.mark.parametrize(("kind", "bits"), [("LOGISTIC", 10), ("TANH", 9)])
def test_the_curves_are_those_of_tflm(kind: str, bits: int) -> None:
    """For every int16 input, TFLM's value equals the interpolation in a program's table (program.h)."""
    net = Net()
    x = net.input((1, 1 << 16), (2.0**-12, 0), dtype="INT16")
    tflm = interpreter(net.model(net.op(kind, [x], [net.tensor((1, 1 << 16), "INT16", (2.0**-15, 0))])), 1 << 20)
    values = np.arange(-(1 << 15), 1 << 15)
    tflm.set_input(values.astype(np.int16)[None], 0)
    assert tflm.invoke() == 0
    curve = np.array(SIGMOID, np.int64)
    at, between = np.divmod(np.minimum(np.abs(3 * values) << 10 - bits, 255 * 512 - 1), 512)
    made = (curve[at] << 9) + between * (curve[at + 1] - curve[at])
    made = np.where(values < 0, (1 << 25) - 1 - made, made) - ((1 << 24) if kind == "TANH" else 0)
    assert (tflm.get_output(0).ravel() == (made + (1 << bits - 1)) >> bits).all()
