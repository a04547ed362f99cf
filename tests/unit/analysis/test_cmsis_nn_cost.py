"""What a model takes as it is, with CMSIS-NN: against the models that were counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT
from models import Net

import tflm_memopt
from tflm_memopt.analysis.cmsis_nn_cost import OTHERS, counted, fit, instructions, of_operators
from tflm_memopt.model.reader import read

KNOWN = {row["model"]: row for row in counted("cortex-m4")}


def estimate(data: bytes, core: str = "cortex-m4") -> int | None:
    macs = {op.index: op.macs for op in tflm_memopt.inspect(data).operators}
    return instructions(read(data).graph, macs, core)


def convolutions(then: str = "") -> bytes:
    net = Net(3)
    x = net.conv2d(net.input((1, 12, 12, 4)), 8, kernel=(3, 3))
    return net.model(net.unary(then, x) if then else net.conv2d(x, 8))


def test_every_model_that_was_counted_is_estimated_within_the_error_that_is_stated() -> None:
    found = fit("cortex-m4")
    assert found
    assert 0 < found.worst < 0.1
    for row in KNOWN.values():
        said = found.mac * row["macs"] + found.value * row["values"]
        assert abs(said / row["instructions"] - 1) <= found.worst, row["model"]


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "person_detect"])
def test_the_amounts_are_those_of_the_models(name: str, outside: Callable[[str], Path]) -> None:
    """The fit is of their multiply-accumulates and values: the same figures come out of the files."""
    found, row = fit("cortex-m4"), KNOWN[name]
    assert found
    data = outside(f"{name}.tflite").read_bytes()
    assert estimate(data) == round(found.mac * row["macs"] + found.value * row["values"])


def test_cores_that_run_the_same_code_share_a_fit_and_others_have_none() -> None:
    assert fit("cortex-m7") == fit("cortex-m33") == fit("cortex-m4")
    assert fit("cortex-m0") is None
    assert counted("cortex-m55")
    assert fit("cortex-m55") is None, "two figures do not tell what Helium takes"
    assert estimate(convolutions(), "cortex-m0") is None


def test_operators_that_nobody_counted_make_it_unknown_where_they_matter() -> None:
    assert estimate(convolutions())
    assert estimate(convolutions(then="ABS")) is None
    graph = read(convolutions(then="ABS")).graph
    last = [op for op in graph.ops if op.type == "ABS"]
    assert of_operators(graph, last, {}, "cortex-m4", beside=1000) is None
    few = of_operators(graph, last, {}, "cortex-m4", beside=10**9)
    assert few
    assert few <= OTHERS * 10**9


def test_a_convolution_that_is_not_counted_in_macs_is_not_free() -> None:
    graph = read(convolutions()).graph
    assert of_operators(graph, graph.ops, {}, "cortex-m4") is None


def test_float_models_are_not_estimated() -> None:
    net = Net(1)
    x = net.input((1, 8, 8, 4), None, dtype="FLOAT32")
    assert estimate(net.model(net.unary("SOFTMAX", x, dtype="FLOAT32", out=None))) is None


def test_the_page_states_the_fit() -> None:
    found = fit("cortex-m4")
    assert found
    page = " ".join((ROOT / "docs/targets.md").read_text(encoding="utf-8").split())
    assert f"{found.mac:.2f} for a multiply-accumulate, {found.value:.1f} for a value that an operator writes" in page
    assert f"estimated to within {100 * found.worst:.1f} %" in page
