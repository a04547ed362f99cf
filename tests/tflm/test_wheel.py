"""The custom operator runs inside the official TFLM wheel."""

import numpy as np
import pytest
from tflm.region_model import IN, WORKSPACE, expected, misaligned_model, program, region_model

from tflm_memopt.format.limits import VERSION
from tflm_memopt.runtime.wheel import interpreter

ARENA = 4096
SEED = 7


@pytest.mark.parametrize("name", ["TMO_REGION", "TMO_CONV_2D", "TMO_FULLY_CONNECTED", "TMO_GROUP"])
def test_runs_a_program_whose_workspace_lies_over_the_input(name: str) -> None:
    tflm = interpreter(region_model(name=name), ARENA)
    random = np.random.default_rng(SEED)
    for run in range(5):
        x = random.integers(-128, 128, IN, dtype=np.int8)
        tflm.set_input(x, 0)
        assert tflm.invoke() == 0
        np.testing.assert_array_equal(tflm.get_output(0), expected(x), err_msg=f"seed {SEED}, run {run}")


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (region_model(program(magic=1)), "not a tflm-memopt program: convert the model again"),
        (
            region_model(program(version=VERSION + 1)),
            "another format version: install the library that belongs to the converter",
        ),
        (region_model(program()[:-8]), "the program is truncated: copy the whole model"),
        (region_model(program()[:8]), "the program is truncated: copy the whole model"),
        (region_model(workspace=WORKSPACE - 1), "workspace do not have the sizes that the program needs"),
        (misaligned_model(), "not 16-byte aligned: declare the model array alignas(16)"),
    ],
    ids=["magic", "newer", "truncated", "cut in the header", "small workspace", "misaligned"],
)
def test_refuses_a_wrong_program_and_says_what_to_do(
    model: bytes, says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RuntimeError):
        interpreter(model, ARENA)
    assert says in capfd.readouterr().err


def test_refuses_a_workspace_off_its_boundary(capfd: pytest.CaptureFixture[str]) -> None:
    tflm = interpreter(region_model(offsets=(16, 64, 8)), ARENA)
    tflm.set_input(np.zeros(IN, np.int8), 0)
    with pytest.raises(RuntimeError):
        tflm.invoke()
    assert "TMO_REGION: the workspace is not 16-byte aligned; keep" in capfd.readouterr().err
