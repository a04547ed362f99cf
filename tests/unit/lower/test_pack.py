"""Test the computed sizes of packed constants."""

import numpy as np
import pytest

from tflm_memopt.lower.pack import LAYOUTS, constant_sizes
from tflm_memopt.ops.packing import OF_CHANNELS, Packing


@pytest.mark.parametrize("packing", LAYOUTS)
@pytest.mark.parametrize("kernel", [(1, 1), (3, 3), (2, 5)])
@pytest.mark.parametrize("channels", [(1, 16), (8, 22), (16, 32)])
def test_sizes_are_those_of_packed_constants(
    packing: Packing, kernel: tuple[int, int], channels: tuple[int, int]
) -> None:
    read, written = channels
    if packing is Packing.DSP_DENSE:
        kernel = 1, 1
    filters = np.zeros((written, *kernel, 1 if packing in OF_CHANNELS else read), np.int8)
    weights, scales = LAYOUTS[packing](filters, np.zeros((written, 4), np.int64))
    found = tuple(None if values is None else values.size for values in (weights, scales))
    assert constant_sizes(packing, kernel, read, written) == found


def test_weights_of_a_damaged_program_take_no_memory() -> None:
    weights, _ = constant_sizes(Packing.DSP_CONV, (1, 1), 1 << 16, 1 << 16)
    assert weights == 1 << 32
