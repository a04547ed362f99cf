"""No output byte changes if channels without influence are removed.

All values that TFLM computes are in the ranges that the converter computes.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import seeds
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from property.forced import forced, mobile, random_settings
from property.layers import Layer
from property.networks import Recipe, build, layers
from property.oracle import EFFORTS, assert_same_bytes, convert, draw_inputs, original, run
from property.planted import plant

from tflm_memopt.convert import annotation
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model import writer
from tflm_memopt.model.reader import read
from tflm_memopt.ops.intervals import Range, ranges
from tflm_memopt.ops.rowop import RowOp

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

SECONDS = 0.2
TAPPED_ARENA = 1 << 26
MANY = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=10, print_blob=True
)

SIZES = st.tuples(st.just(1), st.integers(1, 14), st.integers(1, 9), st.integers(1, 6))
KINDS = (
    "conv", "conv", "conv", "depthwise", "depthwise", "residual", "add", "average", "max", "relu", "relu6", "quantize",
    "mean", "transposed mean", "dense", "dense rows", "bottleneck", "padded", "reshape", "softmax", "two", "gated",
)  # fmt: skip


def chained(layer: Layer, chain: bool) -> Layer:
    return replace(layer, source=0) if chain else layer


def chains(least: int = 3, most: int = 8) -> st.SearchStrategy[Recipe]:
    body = st.lists(st.builds(chained, layers(KINDS), st.integers(0, 3).map(bool)), min_size=least, max_size=most)
    return st.builds(Recipe, st.tuples(SIZES), body.map(tuple), st.just(()), st.integers(0, 1 << 16))


def examine(recipe: Recipe) -> None:
    data = plant(build(recipe), recipe.seed)
    try:
        before = original(data)
    except RuntimeError:
        assume(False)
    assert_ranges_hold(data, recipe.seed)
    effort = EFFORTS[recipe.seed % len(EFFORTS)]
    for op_per_group in (False, True):
        for fold in (True, False):
            converted = convert(
                data, ConversionOptions("group" if op_per_group else "region", SECONDS, effort=effort, fold=fold)
            )
            if converted is not None:
                assert_same_bytes(data, converted[0], seed=recipe.seed, before=before)


def assert_ranges_hold(data: bytes, seed: int) -> None:
    for op, known, values in intermediate(data, seed):
        pixels = np.ascontiguousarray(values).view(np.int8).reshape(-1, op.writes.c)
        assert (pixels >= known.low).all(), f"{op.name} of {op.sources}: below its range"
        assert (pixels <= known.high).all(), f"{op.name} of {op.sources}: above its range"


def intermediate(data: bytes, seed: int) -> Iterator[tuple[RowOp, Range, NDArray[Any]]]:
    """Yield TFLM's values for the output tensor of each operator that runs row by row."""
    model = read(data)
    annotated = annotation.annotate(model.graph)
    support = (annotated.support[op.index] for op in annotated.graph.ops)
    ops = [s for s in support if isinstance(s, RowOp)]
    known = ranges(ops)
    tree = writer.edit(model)
    shown = [op for op in ops if op.output in model.graph.tensors]
    tree.subgraphs[0].outputs = np.array([op.output for op in shown], np.int32)
    tree.signatureDefs = None
    interpreter = original(writer.write(tree), TAPPED_ARENA)
    for inputs in draw_inputs(data, seed):
        for op, values in zip(shown, run(interpreter, inputs, len(shown)), strict=True):
            yield op, known[op.output], values


@pytest.mark.slow
@MANY
@given(chains())
def test_many_networks(recipe: Recipe) -> None:
    examine(recipe)


def test_no_order_moves_a_folded_tensor_out_of_its_region() -> None:
    one = Layer("conv", channels=1, kernel=(1, 1), flag=False)
    last = replace(one, kind="bottleneck", source=4, channels=4)
    examine(Recipe(((1, 1, 1, 1),), (replace(one, other=6, dilation=(1, 2)), one, one, one, last), seed=0))


@pytest.mark.slow
def test_odd_plans_run_folded_operators() -> None:
    for seed in seeds(3):
        data = plant(build(mobile(seed)), seed)
        with forced(random_settings(random.Random(seed)), seed):
            converted = convert(data, ConversionOptions("group" if seed % 5 == 0 else "region", SECONDS / 4))
        assert converted is not None
        assert_same_bytes(data, converted[0], seed=seed)


@pytest.mark.slow
def test_ranges_of_trained_models_hold(own_model: Path) -> None:
    assert_ranges_hold(own_model.read_bytes(), 0)
