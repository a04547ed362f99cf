"""Each kind of layer of random networks has the same output bytes as in TFLM, alone and in a rewritten model."""

import contextlib
import itertools

import numpy as np
import pytest
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from property.layers import INT16, SUPPORTED, Layer
from property.networks import Recipe, build, layers
from property.oracle import draw_inputs, run
from property.test_random_models import COMMON, is_converted, running

from tflm_memopt.errors import RuntimeUnavailable
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import host_model

shapes = st.tuples(st.just(1), st.integers(1, 9), st.integers(1, 9), st.sampled_from((1, 3, 4, 8, 17, 32)))


def assert_operators_agree(data: bytes) -> None:
    graph, before = read(data).graph, running(data)
    for inputs in draw_inputs(data, 0):
        with contextlib.suppress(RuntimeUnavailable):
            found = host_model.run_model(graph, [values[None] for values in inputs], 1)
            for a, b in zip(run(before, inputs, len(found)), found, strict=True):
                np.testing.assert_array_equal(b[0], a)


@pytest.mark.parametrize("kind", [*SUPPORTED, *(f"{kind}, int16" for kind in INT16)])
def test_each_kind_of_layer(kind: str) -> None:
    name, _, wide = kind.partition(", ")
    converted: list[bool] = []
    drawn = itertools.count()

    @settings(COMMON, max_examples=examples(40), derandomize=True)
    @given(layers((name,)), shapes, st.booleans(), st.integers(0, 99))
    def each(layer: Layer, shape: tuple[int, ...], streamed: bool, seed: int) -> None:
        both = (Layer("conv", channels=shape[3]), layer) if streamed else (layer, Layer("conv"))
        recipe = Recipe((shape, shape), both, seed=seed, inside="INT16" if wide else "INT8")
        assert_operators_agree(build(recipe))
        if next(drawn) % 4 == 0:
            converted.append(is_converted(recipe))

    each()
    assert any(converted)
