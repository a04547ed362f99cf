"""Models whose resource variables became rolling buffers have the same output bytes as in TFLM."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import streaming
from conftest import WAKE_WORD
from recording import predict_recording
from stepping import STEPS, differing

import tflm_memopt
from tflm_memopt.errors import ModelError
from tflm_memopt.lower.program import HEADER, ROLLING_BUFFER
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import host
from tflm_memopt.runtime.regions import regions
from tflm_memopt.runtime.stimuli import Steps
from tflm_memopt.runtime.verify import verify
from tflm_memopt.runtime.wheel import interpreter
from tflm_memopt.tflm.arena import predict

HANDLES = {"CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"}


@pytest.mark.parametrize(
    "build",
    [streaming.mixed, partial(streaming.mixed, activations="INT16"), streaming.pooled, streaming.wide,
     streaming.recurrent, streaming.read_often, streaming.joined, streaming.chunks],
)  # fmt: skip
def test_a_thousand_steps(build: Callable[[], bytes]) -> None:
    data = build()
    done = tflm_memopt.optimize(data, seconds=0)
    rewritten = read(done.model)
    assert rewritten.subgraphs == 1
    assert not HANDLES & {op.type for op in rewritten.graph.ops}
    assert differing(data, done.model, STEPS, (1, 333, 334, 700)) == 0


@pytest.mark.parametrize(
    "build", [streaming.partly, streaming.twice_assigned, streaming.read_late, streaming.passed_on, streaming.filled,
              streaming.reshaped, streaming.shared, streaming.reset_in_a_branch],
)  # fmt: skip
def test_other_variables_stay_builtin(build: Callable[[], bytes]) -> None:
    data = build()
    done = tflm_memopt.optimize(data, seconds=0)
    assert HANDLES & {op.type for op in read(done.model).graph.ops}
    assert done.report.changed
    assert differing(data, done.model, 50, (20, 21)) == 0


def test_a_variable_that_leaves_a_model_whole() -> None:
    data = streaming.assigned_nowhere()
    done = tflm_memopt.optimize(data, seconds=0)
    assert done.model == data and not done.report.changed
    assert {op.code for op in tflm_memopt.inspect(data).operators} == {"left_whole"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "total", "rolling_buffers"), [("mww_okay_nabu_v2", 3_684, 3_152), ("mww_vad_v2", 1_652, 1_120)]
)
def test_public_models(name: str, total: int, rolling_buffers: int, outside: Callable[[str], Path]) -> None:
    keeps_state_in_rolling_buffers(outside(f"{name}.tflite").read_bytes(), total, rolling_buffers)


def test_a_trained_model() -> None:
    keeps_state_in_rolling_buffers(WAKE_WORD.read_bytes(), 1_156, 624)


def keeps_state_in_rolling_buffers(data: bytes, total: int, rolling_buffers: int) -> None:
    done = tflm_memopt.optimize(data)
    assert predict(done.model).total == total
    assert sum(state.nbytes for state in done.plan.states) == rolling_buffers
    assert not HANDLES & {op.type for op in read(done.model).graph.ops}
    assert differing(data, done.model, STEPS, (1, 333, 334, 700)) == 0
    figures, said = predict_recording(done.model), verify(data, done.model, runs=1).measured
    assert said and said.rewritten.total == figures.total
    assert interpreter(done.model, figures.min).invoke() == 0
    with pytest.raises(RuntimeError):
        interpreter(done.model, figures.min - 1)


def test_verify_in_steps() -> None:
    data = streaming.mixed()
    model = tflm_memopt.optimize(data, seconds=0).model
    done = verify(data, model, runs=1, steps=Steps(40, 15))
    assert done.bit_exact and (done.runs, done.extremes, done.files, done.steps) == (1, 3, 0, 40)
    found = verify(data, _beginning_otherwise(model), runs=0, steps=Steps(5))
    assert found.difference and found.difference.run == 0


def _beginning_otherwise(model: bytes) -> bytes:
    source = read(model)
    (program,) = (region.program for region in regions(source))
    header = np.frombuffer(program, HEADER, 1)[0]
    rolling_buffers = np.frombuffer(program, ROLLING_BUFFER, 3, int(header["rolling_buffers"])).copy()
    rolling_buffers["fill"] ^= 64
    at = model.index(program) + int(header["rolling_buffers"])
    return model[:at] + rolling_buffers.tobytes() + model[at + rolling_buffers.nbytes :]


def test_another_programs_state_is_refused() -> None:
    """The memory for a state may hold another model's rows, which the program must not read."""
    (own,), (other,) = (
        [region.program for region in regions(read(tflm_memopt.optimize(streaming.mixed(seed), seconds=0).model))]
        for seed in (1, 2)
    )
    state, x = host.new_state(own), np.zeros(16, np.int8)
    for _ in range(2):
        host.run(own, [x], [4], state)
    assert state.nbytes == host.state_bytes(other)
    kept = state.copy()
    with pytest.raises(ModelError, match="the state belongs to another program"):
        host.run(other, [x], [4], state)
    assert np.array_equal(state, kept)
    state[:] = 0
    host.run(other, [x], [4], state)
