"""Every kind of layer of random networks gives TFLM's bytes, before and after a convolution."""

from __future__ import annotations

import pytest
from conftest import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from property.layers import INT16, SUPPORTED, Layer
from property.networks import Recipe, layers
from property.test_random_models import COMMON, is_converted

shapes = st.tuples(st.just(1), st.integers(1, 9), st.integers(1, 9), st.integers(1, 8))


@pytest.mark.parametrize("kind", [*SUPPORTED, *(f"{kind}, int16" for kind in INT16)])
def test_each_kind_of_layer(kind: str) -> None:
    name, _, wide = kind.partition(", ")
    converted = []

    @settings(COMMON, max_examples=examples(8), derandomize=True)
    @given(layers((name,)), shapes, st.booleans(), st.integers(0, 99))
    def each(layer: Layer, shape: tuple[int, ...], streamed: bool, seed: int) -> None:
        both = (Layer("conv", channels=shape[3]), layer) if streamed else (layer, Layer("conv"))
        recipe = Recipe((shape, shape), both, seed=seed, inside="INT16" if wide else "INT8")
        converted.append(is_converted(recipe))

    each()
    assert any(converted)
