"""Two threads run our custom operator for two cores in TFLM's interpreter."""

from pathlib import Path

import pytest
from conftest import EXAMPLE, KEYWORDS, MOBILENET
from models import Net
from moving import tile

import tflm_memopt
from tflm_memopt.runtime.stimuli import Steps


def verified(model: bytes, runs: int, **options: object) -> bool:
    rewritten = tflm_memopt.optimize(model, cores=2, **options).model  # type: ignore[arg-type]
    return tflm_memopt.verify(model, rewritten, runs=runs, steps=Steps(cores=2)).bit_exact


@pytest.mark.slow
def test_a_model_for_two_cores_is_verified_on_one_and_on_two() -> None:
    model = EXAMPLE.read_bytes()
    found = tflm_memopt.verify(model, tflm_memopt.optimize(model, cores=2, effort=0.05).model, runs=2)
    assert (found.bit_exact, found.threads) == (True, (1, 2))


@pytest.mark.slow
@pytest.mark.parametrize("path", [KEYWORDS, MOBILENET], ids=lambda path: path.stem)
def test_trained_models(path: Path) -> None:
    assert verified(path.read_bytes(), 100, target="cortex-m33", share="0.8,1")


def test_a_model_whose_arena_under_tflm_is_unknown() -> None:
    """TFLM has no TILE, so the arena of the original model is unknown."""
    net = Net(2)
    x = net.conv2d(net.input((1, 24, 16, 3)), 8, kernel=(3, 3), stride=(2, 2))
    x = tile(net, net.conv2d(net.depthwise_conv2d(x), 16), (1, 1, 2, 1))
    assert verified(net.model(net.conv2d(x, 4, kernel=(3, 3))), 2, effort=0.05)
