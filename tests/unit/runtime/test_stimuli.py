"""Test the inputs that verify uses."""

from __future__ import annotations

import numpy as np
import pytest

from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Quantization, Tensor
from tflm_memopt.runtime.stimuli import from_files

IMAGE = Tensor(0, "image", (1, 2, 3, 4), "INT8", Quantization((0.5,), (0,)))


@pytest.mark.parametrize("shape", [(1, 2, 3, 4), (1, 1, 2, 3, 4), (5, 1, 2, 3, 4), (5, 2, 3, 4)])
def test_files_hold_one_run_or_several(shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape), dtype=np.int8).reshape(shape)
    runs = from_files([IMAGE], [values])
    assert len(runs) == values.size // IMAGE.elements
    np.testing.assert_array_equal(np.stack([run.values[0] for run in runs]).flatten(), values.flatten())
    assert all(run.values[0].shape == IMAGE.shape for run in runs)


@pytest.mark.parametrize(
    ("array", "says"),
    [(np.zeros((1, 2, 3, 4)), "type float64, the input is INT8"), (np.zeros((4, 3, 2), np.int8), r"shape \[4, 3, 2\]")],
)
def test_files_that_do_not_fit_are_errors(array: np.ndarray, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        from_files([IMAGE], [array])
