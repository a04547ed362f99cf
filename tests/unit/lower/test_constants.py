"""Constants of a program are aligned, and no byte is stored twice."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tflm_memopt.lower.codec import ALIGN, SHARED, ConstantPool

START = 20
WHOLE: NDArray[np.int8] = np.random.default_rng(1).integers(-128, 127, 4 * SHARED, dtype=np.int8)


def read(constants: ConstantPool, at: int, nbytes: int) -> bytes:
    return bytes(constants.data[at - constants.start :][:nbytes])


def test_equal_ones_are_stored_once_and_all_are_aligned() -> None:
    constants = ConstantPool(START)
    parts = [WHOLE[:3], WHOLE[5:10], WHOLE[:3]]
    places = [constants.add(part, "i1") for part in parts]
    assert places[0] == places[2] == START
    assert all(at % ALIGN == 0 for at in places)
    assert [read(constants, at, part.size) for at, part in zip(places, parts, strict=True)] == [
        part.tobytes() for part in parts
    ]
    assert constants.end == START + ALIGN + 5


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (1, 2, 0)])
def test_a_part_of_another_is_there_already(order: tuple[int, ...]) -> None:
    parts = (WHOLE, WHOLE[: 2 * SHARED], WHOLE[2 * SHARED :])
    known = ConstantPool(START)
    for k in order:
        known.add(parts[k], "i1")
    constants = ConstantPool(START, known.stored)
    for k in order:
        at = constants.add(parts[k], "i1")
        assert read(constants, at, parts[k].size) == parts[k].tobytes()
    assert constants.end == START + WHOLE.size
