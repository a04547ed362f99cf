"""Test verify(), which compares two models under TFLM and measures their arenas."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from models import Net
from property.floats import in_float
from tflm.region_model import IN, INT8, OUT, float_io, program, region_model, region_tree

import tflm_memopt
from tflm_memopt import optimize
from tflm_memopt.errors import ModelError, RuntimeUnavailable, UsageError
from tflm_memopt.lower.program import HEADER, OP
from tflm_memopt.model import writer
from tflm_memopt.model.interface import METADATA, Change, Changes, Format
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import host, host_model
from tflm_memopt.runtime.convert import quantize
from tflm_memopt.runtime.guard import guarded_runs
from tflm_memopt.runtime.process import run_model
from tflm_memopt.runtime.regions import regions
from tflm_memopt.runtime.stimuli import stimuli
from tflm_memopt.runtime.verification import HOST_REFERENCE, TFLM_WHEEL, How
from tflm_memopt.runtime.verify import verify

HOWS: tuple[How, How] = (TFLM_WHEEL, HOST_REFERENCE)


def test_an_input_needs_a_fixed_shape() -> None:
    net = Net()
    data = net.model(net.unary("RELU", net.input((1, -1, 8, 3))))
    with pytest.raises(UsageError, match="the shape of input 'input0' is known only at run time"):
        verify(data, data, runs=1)


def test_no_integer_stands_for_nan() -> None:
    with pytest.raises(UsageError, match="the values contain NaN"):
        quantize(np.array([0, np.nan], np.float32), Format("INT8", 0.1, 0))


def test_inputs_and_outputs_need_no_names() -> None:
    net = Net()
    net.graph.outputs = [net.conv2d(net.conv2d(net.input((1, 8, 8, 3)), 8, kernel=(3, 3)), 4)]
    for tensor in net.graph.tensors:
        tensor.name = None
    data = writer.write(net.tree)
    assert verify(data, optimize(data, effort=0.05).model, runs=1).bit_exact


@pytest.mark.parametrize("how", HOWS)
def test_names_the_first_byte_that_differs(how: How) -> None:
    other = region_model(program(relu_from=1))
    lowest = np.full(IN, -128, np.int8)
    result = verify(region_model(), other, runs=0, inputs=[lowest], how=how)
    assert not result.bit_exact
    difference = result.difference
    assert difference is not None
    assert (difference.label, difference.output, difference.name) == ("all lowest", 0, "y")
    assert (difference.index, difference.original, difference.rewritten) == ((0, 0, 0, 0), 0, 1)
    assert difference.elements == np.prod(OUT)


def test_a_memory_plan_that_destroys_rows_is_found_by_tflm_and_by_the_guard() -> None:
    result = verify(region_model(), region_model(offsets=(16, 16, 0)), runs=2)
    assert not result.bit_exact
    assert result.difference is not None
    assert "output 'y'" in result.failure
    assert "where buffers overlap as planned" in result.failure


def test_a_write_outside_of_the_rows_is_found_by_the_guard() -> None:
    result = verify(region_model(), region_model(offsets=(16, 264, 0)), runs=2)
    assert not result.bit_exact
    assert result.failure != ""


def test_the_guard_ignores_the_payload_of_a_nan() -> None:
    net, run = Net(), host.run
    rewritten = optimize(in_float(net.model(net.conv2d(net.input((1, 4, 1, 3)), 3)), 1)).model

    def with_other_payload(*given: Any) -> list[Any]:
        found = run(*given)
        found[0][0] ^= 1
        return found

    with mock.patch.object(host, "run", with_other_payload):
        assert guarded_runs(read(rewritten), [[np.full((1, 4, 1, 3), np.nan, np.float32)]], 0) == (1, "")
        assert guarded_runs(read(rewritten), [[np.ones((1, 4, 1, 3), np.float32)]], 0)[1] != ""


def test_a_crash_is_an_answer() -> None:
    far = 1 << 26
    before_the_arena = region_model(workspace=far, offsets=(16, 64, 16 - far))
    result = verify(region_model(), before_the_arena, runs=1)
    assert not result.bit_exact
    assert result.failure.startswith("the rewritten model crashed in TFLM (SIGSEGV)")


@pytest.mark.parametrize(("field", "value", "why"), [
    ("magic", 0, "not a tflm-memopt program"), ("version", 255, "another format version"),
    ("workspace", 1 << 20, "sizes that the program needs"), ("iterations", 7, "the program is damaged"),
])  # fmt: skip
def test_the_damage_of_a_rewritten_model_is_an_error(field: str, value: int, why: str) -> None:
    damaged = region_model(program(**{field: value}))
    answers: tuple[Callable[[], object], ...] = (
        lambda: verify(region_model(), damaged, runs=1),
        lambda: tflm_memopt.inspect(damaged),
        lambda: tflm_memopt.optimize(damaged),
        lambda: tflm_memopt.explore(damaged),
        lambda: tflm_memopt.optimize_devices(damaged, 2),
    )
    for answer in answers:
        with pytest.raises(ModelError, match=why) as caught:
            answer()
        assert (caught.value.code, caught.value.where) == ("damaged_program", "operator 0 CUSTOM 'TMO_REGION'")


def _a_table() -> bytes:
    net = Net()
    return net.model(net.unary("LOGISTIC", net.input((1, 2, 2, 1)), out=(1 / 256, -128)))


def _with_another_entry(model: bytes, entry: int) -> bytes:
    region, *_ = regions(read(model))
    header = np.frombuffer(region.program, HEADER, 1)[0]
    at = int(np.frombuffer(region.program, OP, 1, header["ops"])[0]["weights"]) + entry
    position = model.index(region.program) + at
    return model[:position] + bytes([model[position] ^ 1]) + model[position + 1 :]


def test_one_wrong_value_in_256_is_found() -> None:
    original = _a_table()
    rewritten = optimize(original, if_worthwhile=False).model
    other = _with_another_entry(rewritten, 77)
    assert verify(original, other, runs=2).bit_exact
    found = verify(original, other)
    assert found.difference is not None
    assert found.difference.run >= 13
    assert found.answer == "DIFFERENT"


def _with_float_io() -> bytes:
    tree = region_tree(program())
    float_io(tree)
    return writer.write(tree)


def _recorded() -> bytes:
    tree = region_tree(program())
    change = Change(0, "x", Format("FLOAT32"), INT8)
    changes = Changes((change,), (replace(change, name="y"),))
    writer.set_metadata(tree, METADATA, json.dumps({"interface": changes.to_json()}).encode())
    return writer.write(tree)


@pytest.mark.parametrize("how", HOWS)
def test_recorded_changes_of_the_interface_are_bridged(how: How) -> None:
    floats = np.random.default_rng(1).uniform(-70, 70, IN).astype(np.float32)
    int8s = np.random.default_rng(1).integers(-128, 128, IN, dtype=np.int8)
    for given in (floats, int8s):
        result = verify(_with_float_io(), _recorded(), runs=4, inputs=[given], how=how)
        assert result.bit_exact, result
        assert result.files == 1


def _converted_net(kind: str) -> bytes:
    net = Net(seed=4)
    affine, inner = ((0.5, 124), (0.5, -4)) if kind == "UINT8" else (None, (0.5, -4))
    a, b = (net.unary("QUANTIZE", net.input((1, 9, 7, 3), affine, dtype=kind), out=inner) for _ in range(2))
    features = net.depthwise_conv2d(net.conv2d(net.add(a, b), 8, stride=(2, 2)))
    scores = net.fully_connected(net.mean(features, (1, 2), keep=False), 5)
    outputs = []
    for tensor in (features, scores):
        scale, zero_point = net.affine(tensor)
        outer = (scale, zero_point + 128) if kind == "UINT8" else None
        outputs.append(net.unary("QUANTIZE" if kind == "UINT8" else "DEQUANTIZE", tensor, dtype=kind, out=outer))
    return net.model(*outputs)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", ["FLOAT32", "UINT8"])
def test_int8_io_of_whole_models(kind: str, how: How) -> None:
    original = _converted_net(kind)
    rewritten = optimize(original, int8_io=True, seconds=0.5)
    assert len(rewritten.report.interface) == 4
    given = [np.random.default_rng(2).integers(0, 100, (3, 9, 7, 3)).astype(kind.lower()) for _ in range(2)]
    result = verify(original, rewritten.model, runs=20, inputs=given, how=how)
    assert result.bit_exact, result
    assert result.files == 3
    assert result.guarded > 0


def test_the_host_reference_equals_tflm(own_model: Path) -> None:
    data = own_model.read_bytes()
    graph = read(data).graph
    runs = stimuli(graph, [graph.tensors[t] for t in graph.inputs], 2, seed=0)
    inputs = [np.stack(values) for values in zip(*(run.values for run in runs), strict=True)]
    if any(op.type == "CALL_ONCE" for op in graph.ops):
        with pytest.raises(RuntimeUnavailable, match="only TFLM itself runs this operator"):
            host_model.run_model(graph, inputs, len(runs))
        return
    ours = host_model.run_model(graph, inputs, len(runs))
    tflm = run_model(data, inputs, len(runs), len(graph.outputs))
    assert tflm.failure == ""
    for name, a, b in zip(graph.outputs, ours, tflm.outputs, strict=True):
        np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8), err_msg=f"output {name}, seed 0")
