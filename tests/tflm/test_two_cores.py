"""Two cores inside our operator's Invoke, under TFLM's own interpreter: a thread of this machine is the second one."""

from __future__ import annotations

import pytest
from conftest import EXAMPLE, MODELS

import tflm_memopt
from tflm_memopt.runtime.stimuli import Steps


def verified(model: bytes, runs: int, **options: object) -> bool:
    rewritten = tflm_memopt.optimize(model, cores=2, **options).model  # type: ignore[arg-type]
    return tflm_memopt.verify(model, rewritten, runs=runs, steps=Steps(cores=2)).bit_exact


def test_a_model_for_two_cores_is_verified_on_one_and_on_two() -> None:
    model = EXAMPLE.read_bytes()
    found = tflm_memopt.verify(model, tflm_memopt.optimize(model, cores=2, effort="low").model, runs=2)
    assert (found.bit_exact, found.threads) == (True, (1, 2))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["generic", "cortex-m33"])
def test_the_example(target: str) -> None:
    assert verified(EXAMPLE.read_bytes(), 100, target=target)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kws_dscnn", "ic_resnet8", "vww_96", "mcunet_vww"])
@pytest.mark.parametrize("share", ["1,1", "0.8,1"])
def test_public_models(name: str, share: str) -> None:
    """100 runs, each with other delays. Where the public models are not, the example has to do."""
    model = next(iter(sorted(MODELS.glob(f"*{name}*.tflite"))), EXAMPLE)
    assert verified(model.read_bytes(), 100, target="cortex-m33", share=share)
