"""Compare QUANTIZE and DEQUANTIZE of convert.py with the wheel's own operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tflm.region_model import converter_model

from tflm_memopt.model.interface import Change, Format
from tflm_memopt.runtime import convert
from tflm_memopt.runtime.wheel import interpreter

FLOAT = Format("FLOAT32")
SEED = 23
ARENA = 1 << 16


def _tflm(operator: str, source: Format, target: Format, values: NDArray[Any]) -> NDArray[Any]:
    """Return the wheel's result for a vector."""
    tflm = interpreter(converter_model(operator, source, target, values.size), ARENA)
    tflm.set_input(values.reshape(1, -1), 0)
    assert tflm.invoke() == 0
    result: NDArray[Any] = tflm.get_output(0).reshape(-1)
    return result


def _formats(dtype: str, *, zero_points: tuple[int, ...]) -> list[Format]:
    """Includes scales of public models: 1/255 (MCUNet), 0.5847029 (keyword spotting)."""
    scales = [0.5, 1.0, 1 / 255, 1 / 128, 0.5847029, 0.00392156885936856, 3.0e-5, 17.3]
    return [Format(dtype, float(np.float32(s)), z) for s in scales for z in zero_points]


@pytest.mark.parametrize("target", _formats("INT8", zero_points=(-128, 3)), ids=str)
def test_quantize(target: Format) -> None:
    assert target.scale is not None
    random = np.random.default_rng(SEED)
    ties = ((np.arange(-140, 140) + 0.5) * target.scale).astype(np.float32)
    values = np.concatenate([
        random.normal(0, 100 * target.scale, 500), ties, np.nextafter(ties, 9e9), np.nextafter(ties, -9e9), [0.0, -0.0]
    ]).astype(np.float32)  # fmt: skip
    np.testing.assert_array_equal(convert.quantize(values, target), _tflm("QUANTIZE", FLOAT, target, values))


@pytest.mark.parametrize("source", _formats("INT8", zero_points=(-128, 3)), ids=str)
def test_dequantize(source: Format) -> None:
    values = np.arange(-128, 128).astype(np.int8)
    ours, theirs = convert.dequantize(values, source), _tflm("DEQUANTIZE", source, FLOAT, values)
    np.testing.assert_array_equal(ours.view(np.uint32), theirs.view(np.uint32))


@pytest.mark.parametrize("source", _formats("UINT8", zero_points=(128, 7)), ids=str)
@pytest.mark.parametrize("target", [Format("INT8", 0.5, 0), Format("INT8", 1 / 255, -121)], ids=str)
def test_requantize(source: Format, target: Format) -> None:
    target = Format(target.dtype, float(np.float32(target.scale or 0)), target.zero_point)
    bytes_ = np.arange(256).astype(np.uint8)
    np.testing.assert_array_equal(convert.requantize(bytes_, source, target), _tflm("QUANTIZE", source, target, bytes_))
    int8s = np.arange(-128, 128).astype(np.int8)
    np.testing.assert_array_equal(convert.requantize(int8s, target, source), _tflm("QUANTIZE", target, source, int8s))


@pytest.mark.parametrize("after", _formats("INT8", zero_points=(-128, 3)), ids=str)
def test_what_is_fed_to_the_original_comes_back_under_tflm(after: Format) -> None:
    every = np.arange(-128, 128).astype(np.int8)
    fed = convert.preimage(Change(0, "x", FLOAT, after))(every)
    np.testing.assert_array_equal(_tflm("QUANTIZE", FLOAT, after, fed), every)
