"""Random float32 networks give the same bytes before and after rewriting, under the official TFLM wheel."""

import pytest
from hypothesis import Phase, given, settings
from property.floats import FLOAT, examine_float, float_recipes
from property.layers import Layer
from property.networks import Recipe
from property.test_random_models import COMMON, drawn

from tflm_memopt.errors import PlanError
from tflm_memopt.ops.rowop import RowOp

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

QUICK = settings(COMMON, max_examples=15, derandomize=True, phases=[Phase.explicit, Phase.generate, Phase.shrink])


@pytest.mark.slow
@QUICK
@given(float_recipes())
def test_random_networks(recipe: Recipe) -> None:
    examine_float(recipe, drawn(recipe.seed))


@pytest.mark.parametrize("kind", FLOAT)
def test_each_kind_of_layer_is_converted(kind: str) -> None:
    recipes = (Recipe(((1, 9, 7, 4),), (Layer(kind, channels=c), Layer("conv"))) for c in range(3, 10))
    assert all(examine_float(recipe) for recipe in recipes)


def test_a_group_whose_sums_would_be_rounded_in_another_order_is_not_reversed() -> None:
    layers = (Layer("conv", channels=8), Layer("conv", channels=8, stride=(2, 2)), Layer("conv", channels=16))
    assert examine_float(Recipe(((1, 32, 32, 3),), layers))


def test_sums_in_tiles_are_rounded_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = (Layer("add"), Layer("padded", channels=7), Layer("average", kernel=(5, 1)))
    recipe = Recipe(((1, 13, 5, 2),), (*layers, Layer("masked"), Layer("global"), Layer("mean")), seed=347)
    assert examine_float(recipe, drawn(347))
    monkeypatch.setattr(RowOp, "needs_order", False)
    with pytest.raises(PlanError, match="adds up columns of 14 rows"):
        examine_float(recipe, drawn(347))


def test_a_map_that_nothing_reads_is_not_computed() -> None:
    conv = Layer("conv", channels=1)
    assert examine_float(
        Recipe(((1, 1, 1),), (conv, Layer("heads", channels=1), Layer("conv", channels=1, stride=(2, 2))), seed=1)
    )
