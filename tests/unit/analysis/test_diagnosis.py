"""The command `inspect` recognises the kind of a model, and gives advice."""

from collections.abc import Callable, Mapping
from functools import partial

import pytest
from ai_edge_litert import schema_py_generated as schema
from models import Net
from unit.analysis.arena_zoo import with_subgraphs
from unit.command import float_io, small, unsupported

import tflm_memopt
from tflm_memopt.analysis.diagnosis import diagnose
from tflm_memopt.model.reader import read


def compiled(custom_code: str) -> bytes:
    net = Net()
    scratch = net.tensor((1, 16))  # The compiler Vela adds a scratch tensor that no operator writes.
    return net.model(net.op("CUSTOM", [net.input((1, 8)), scratch], [net.tensor((1, 4))], custom_code=custom_code))


def mixed() -> bytes:
    net = Net(5)
    x = net.conv2d(net.input((1, 8, 8, 3)), 4)
    middle = net.unary("ABS", net.unary("DEQUANTIZE", x, dtype="FLOAT32", out=None), dtype="FLOAT32", out=None)
    return net.model(net.conv2d(net.unary("QUANTIZE", middle), 2))


def loop_with_wrong_shapes() -> bytes:
    """Return a model whose WHILE computes an LSTM and joins tensors of unequal sizes, as TensorFlow does."""
    net = Net()
    x = net.input((1, 8))
    y = net.op("WHILE", [x], [net.tensor((1, 8))], schema.WhileOptionsT(condSubgraphIndex=1, bodySubgraphIndex=2))

    def condition() -> int:
        z = net.input((1, 8))
        return net.op("LESS", [z, z], [net.tensor((1, 8), "BOOL", None)])

    def step() -> int:
        z = net.fully_connected(net.input((1, 8)), 8)
        for kind in ("LOGISTIC", "LOGISTIC", "LOGISTIC", "TANH", "TANH"):
            z = net.unary(kind, z)
        options = schema.ConcatenationOptionsT(axis=0)
        return net.op("CONCATENATION", [z, net.input((1, 1))], [net.tensor((2, 8))], options)

    return with_subgraphs(net, y, condition, step)


KINDS: Mapping[str, tuple[Callable[[], bytes], str]] = {
    "int8": (small, "int8 from input to output"),
    "int8_io": (
        float_io,
        "int8 with float32 input and output: --int8-io saves 12,096 of the 16,128 B of inputs and outputs",
    ),
    "float32": (unsupported, "float32: int8 would take about a quarter of the RAM, if"),
    "mixed": (mixed, "int8 and float32 (ABS): quantize all of it"),
    "ethos_u": (partial(compiled, "ethos-u"), "compiled for Arm's Ethos-U: Vela has planned its memory"),
    "edge_tpu": (
        partial(compiled, "edgetpu-custom-op"),
        "compiled for the Edge TPU: optimize what went into its compiler",
    ),
    "undefined": (
        loop_with_wrong_shapes,
        "the WHILE loop of the layer LSTM has a wrong shape, operator 6 CONCATENATION: [1, 8] and [1, 1] differ in",
    ),
    "rewritten": (lambda: tflm_memopt.optimize(small()).model, "rewritten by tflm-memopt: optimize the original"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str) -> None:
    make, says = KINDS[kind]
    found = diagnose(read(make()))
    assert found.kind == kind
    assert str(found).startswith(says)


def test_a_loop_with_wrong_shapes_can_be_unrolled() -> None:
    found = str(diagnose(read(loop_with_wrong_shapes())))
    assert ": build the layer with a fixed number of steps and unroll=True;" in found


def test_a_model_that_vela_compiled_stays_whole() -> None:
    assert "optimize Vela's input" in tflm_memopt.optimize(compiled("ethos-u")).report.why_unchanged
