"""Inputs in which each element takes every value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tflm_memopt.model.graph import Graph, Op, Quantization, Tensor
from tflm_memopt.model.interface import Format
from tflm_memopt.runtime.convert import quantize
from tflm_memopt.runtime.every_value import every_value

QUANTIZED = Tensor(1, "q", (1, 30), "INT8", Quantization((0.1,), (-20,)))


def graph(tensor: Tensor, reader: Op | None = None, *others: Tensor) -> Graph:
    return Graph({t.id: t for t in (tensor, *others)}, () if reader is None else (reader,), (tensor.id,), ())


@pytest.mark.parametrize("dtype", ["INT8", "UINT8", "INT16"])
def test_each_byte_takes_every_value(dtype: str) -> None:
    tensor = Tensor(0, "x", (1, 3, 5), dtype)
    runs = every_value(graph(tensor), [tensor], seed=1)
    values = np.stack([run.values[0] for run in runs])
    assert values.shape == (256, 1, 3, 5)
    assert values.dtype == np.dtype(dtype.lower())
    columns = values.reshape(256, -1).view(np.uint8).T
    assert all(sorted(column.tolist()) == list(range(256)) for column in columns)
    assert len({column.tobytes() for column in columns}) == len(columns)  # not all bytes change together


@pytest.mark.parametrize("rows", [2, 30, 256, 1000])
def test_indices_take_every_value_that_they_may(rows: int) -> None:
    tensor, table = Tensor(0, "x", (1, 7), "INT32"), Tensor(1, "table", (rows, 8), "INT8", data=np.zeros((rows, 8)))
    reader = Op(0, "GATHER", (1, 0), (2,), {"axis": 0})
    runs = every_value(graph(tensor, reader, table, Tensor(2, "y", (1, 7, 8), "INT8")), [tensor], seed=1)
    for column in np.stack([run.values[0] for run in runs]).reshape(256, -1).T.tolist():
        assert len(set(column)) == min(rows, 256)
        assert 0 <= min(column) <= max(column) < rows


def test_floats_take_every_value_that_quantize_makes_and_lie_on_its_borders() -> None:
    tensor = Tensor(0, "x", (1, 30), "FLOAT32")
    runs = every_value(graph(tensor, Op(0, "QUANTIZE", (0,), (1,)), QUANTIZED), [tensor], seed=1)
    assert [run.label for run in runs[:: len(runs) - 1]] == ["every value 0", "border 255"]
    values = np.stack([run.values[0].ravel() for run in runs])
    assert values.dtype == np.float32
    for column in quantize(values[:256], Format("INT8", 0.1, -20)).T.tolist():
        assert sorted(column) == list(range(-128, 128))
    ratio = values[256:] / np.float32(0.1)
    assert np.allclose(np.abs(ratio - np.trunc(ratio)), 0.5, atol=1e-4)
    made = quantize(values[256:], Format("INT8", 0.1, -20))
    levels = np.floor(ratio.astype(np.float64) + 1e-3) - 20
    assert {math.copysign(1, x) for x in np.unique(made - levels - 0.5)} == {-1, 1}  # on both sides of rounding borders


def test_other_floats_are_spread_over_their_range() -> None:
    tensor = Tensor(0, "x", (1, 4), "FLOAT32")
    values = np.stack([run.values[0].ravel() for run in every_value(graph(tensor), [tensor], seed=1)[:256]])
    assert all(len(set(column)) == 256 for column in values.T.tolist())
    assert -4 <= values.min() < -3.9 < 3.9 < values.max() <= 4
