"""The command `inspect` recognises the kind of a model, and gives advice."""

from collections.abc import Callable, Mapping
from functools import partial

import pytest
from models import Net
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
    "rewritten": (lambda: tflm_memopt.optimize(small()).model, "rewritten by tflm-memopt: optimize the original"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str) -> None:
    make, says = KINDS[kind]
    found = diagnose(read(make()))
    assert found.kind == kind
    assert str(found).startswith(says)


def test_a_model_that_vela_compiled_stays_whole() -> None:
    assert "optimize Vela's input" in tflm_memopt.optimize(compiled("ethos-u")).report.why_unchanged
