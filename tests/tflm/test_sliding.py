"""`verify --steps` compares each inference over a sliding input with the original model on the whole window."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import QUICKLY
from models import Net
from moving import slice_
from property.floats import in_float

import tflm_memopt
from tflm_memopt.lower.program import HEADER, ROLLING_BUFFER
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.regions import regions
from tflm_memopt.runtime.stimuli import Steps
from tflm_memopt.runtime.verification import HOST_REFERENCE, TFLM_WHEEL, How
from tflm_memopt.runtime.verify import verify

needs_compiler = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")


def network(height: int = 15, activations: str = "INT8") -> bytes:
    net = Net(3, activations=activations)
    x = net.conv2d(net.input((1, height, 1, 4)), 6, kernel=(3, 1), stride=(2, 1), padding="VALID")
    return net.model(net.fully_connected(net.depthwise_conv2d(x, kernel=(3, 1), padding="VALID"), 3))


@pytest.mark.parametrize("how", [TFLM_WHEEL, HOST_REFERENCE])
@pytest.mark.parametrize("rows", [2, 4])
def test_each_step_is_compared(rows: int, how: How) -> None:
    data = network()
    done = tflm_memopt.optimize(data, input=f"sliding:{rows}", seconds=0.05)
    found = verify(data, done.model, runs=1, steps=Steps(40, 15), how=how)
    assert found.bit_exact, found
    assert (found.runs, found.extremes, found.files, found.steps) == (1, 3, 0, 40)


@pytest.mark.parametrize("data", [network(activations="INT16"), in_float(network(), 3)], ids=["int16", "float32"])
def test_rows_of_wider_types(data: bytes) -> None:
    done = tflm_memopt.optimize(data, input="sliding:2", seconds=0.05)
    assert verify(data, done.model, runs=1, steps=Steps(40, 15)).bit_exact


@pytest.mark.slow
def test_layers_that_pad_in_time(outside: Callable[[str], Path]) -> None:
    data = outside("mlperf_tiny_kws_dscnn_int8.tflite").read_bytes()
    done = tflm_memopt.optimize(data, input="sliding:2", effort=QUICKLY)
    assert (done.report.macs.rewritten, done.report.macs.original) == (1_488_128, 2_656_768)
    found = verify(data, done.model, runs=1, steps=Steps(60, 25))
    assert found.bit_exact, found


@pytest.mark.parametrize(("first", "rows"), [(0, 6), (6, 6), (3, 5)])
def test_a_part_of_the_window(first: int, rows: int) -> None:
    net = Net(1)
    x = slice_(net, net.input((1, 12, 3, 2)), (0, first, 0, 0), (1, rows, 3, 2))
    data = net.model(net.fully_connected(net.conv2d(x, 3, kernel=(3, 2), padding="VALID"), 4))
    model = tflm_memopt.optimize(data, input="sliding", seconds=0.05, effort=0.05).model
    found = verify(data, model, runs=2, steps=Steps(30, 14))
    assert found.bit_exact, found


def test_a_window_that_is_full_too_early_is_found() -> None:
    model = tflm_memopt.optimize(network(), input="sliding:2", seconds=0.05).model
    found = verify(network(), _full_one_step_early(model), runs=1, steps=Steps(3))
    assert not found.bit_exact
    assert "Invoke returned status 0 when the window was not full" in found.failure


def _full_one_step_early(model: bytes) -> bytes:
    (program,) = (region.program for region in regions(read(model)))
    header = np.frombuffer(program, HEADER, 1)[0]
    count = (len(program) - int(header["rolling_buffers"])) // ROLLING_BUFFER.itemsize
    rolling_buffers = np.frombuffer(program, ROLLING_BUFFER, count, int(header["rolling_buffers"])).copy()
    rolling_buffers["depth"][np.flatnonzero(rolling_buffers["window"] == 1)[0]] -= 1
    at = model.index(program) + int(header["rolling_buffers"])
    return model[:at] + rolling_buffers.tobytes() + model[at + rolling_buffers.nbytes :]


@needs_compiler
@pytest.mark.slow
def test_a_c_module_goes_the_same_steps(tmp_path: Path) -> None:
    """Each inference gets four new rows, and the height of the window is not a multiple of four."""
    data = network()
    done = tflm_memopt.optimize(data, input="sliding:4", seconds=0.05)
    done.save(tmp_path, "c")
    found = verify(data, done.model, runs=3, steps=Steps(40, 15), c=tmp_path)
    assert found.bit_exact and found.module, found
    assert (found.module.runs, found.module.selftest) == (3 + 3 + 40, 0)
