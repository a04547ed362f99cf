"""Test which operators the option --int8-io removes."""

from collections.abc import Callable

import pytest
from models import Affine, Net

from tflm_memopt.model.reader import read
from tflm_memopt.rewrite.int8_io import int8_io

Q: Affine = (0.5, -4)


def _two_readers(net: Net) -> tuple[int, ...]:
    x = net.input((1, 4), None, dtype="FLOAT32")
    return net.unary("QUANTIZE", x), net.unary("QUANTIZE", x)


def _no_quantize(net: Net) -> tuple[int, ...]:
    return (net.unary("RELU", net.input((1, 4), None, dtype="FLOAT32"), dtype="FLOAT32", out=None),)


def _int8_is_an_output(net: Net) -> tuple[int, ...]:
    return (net.unary("QUANTIZE", net.input((1, 4), None, dtype="FLOAT32")),)


def _int16(net: Net) -> tuple[int, ...]:
    return (net.unary("RELU", net.unary("QUANTIZE", net.input((1, 4), None, dtype="FLOAT32"), dtype="INT16")),)


def _other_uint8(net: Net) -> tuple[int, ...]:
    return (net.unary("RELU", net.unary("QUANTIZE", net.input((1, 4), (0.25, 124), dtype="UINT8"), out=Q)),)


def _shifted_uint8(net: Net) -> tuple[int, ...]:
    return (net.unary("RELU", net.unary("QUANTIZE", net.input((1, 4), (0.5, 123), dtype="UINT8"), out=Q)),)


def _read_again(net: Net) -> tuple[int, ...]:
    x = net.unary("DEQUANTIZE", net.unary("RELU", net.input((1, 4))), dtype="FLOAT32", out=None)
    return x, net.unary("QUANTIZE", x)


REFUSALS: dict[str, tuple[Callable[[Net], tuple[int, ...]], list[str]]] = {
    "two readers": (_two_readers, ["it is not read by exactly one QUANTIZE"]),
    "no QUANTIZE": (_no_quantize, ["it is not read by exactly one QUANTIZE", "no DEQUANTIZE writes it"]),
    "an output": (_int8_is_an_output, ["tensor 1 't1' is already an input or output"]),
    "int16": (_int16, ["tensor 1 't1' is not an int8 activation with one scale"]),
    "uint8": (_other_uint8, ["uint8 and int8 differ by more than an offset of 128"]),
    "shifted uint8": (_shifted_uint8, ["uint8 and int8 differ by more than an offset of 128"]),
    "read again": (_read_again, ["the output of its DEQUANTIZE is read again"]),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_conversion_that_stays(case: str) -> None:
    build, reasons = REFUSALS[case]
    net = Net()
    outputs = build(net)
    result = int8_io(read(net.model(*outputs)).graph)
    assert [r.reason for r in result.refusals] == reasons
    assert result.graph == read(net.model(*outputs)).graph
