"""An array of byte numbers is converted to rows and runs of bytes. A naive replay of the runs restores the array, and
the runs are few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tflm_memopt.ops.moves import FILL, Indices, Irregular, by_rows, numbered, scattered
from tflm_memopt.ops.rowop import Access, Ints, Moves, Rows

Transform = Callable[..., Indices]
IMAGE = (1, 6, 4, 5)
HALF = (1, 3, 4, 5)


def replay(
    access: Sequence[Access], moves: Moves, inputs: Sequence[Indices], reads: Sequence[Rows], writes: Rows
) -> Ints:
    """Replay output rows like tmo_copy_s8; -2 marks bytes that are neither moved nor filled."""
    out = np.full((writes.h, writes.row_bytes), -2 if moves.fill is None else FILL, np.int64)
    for y in range(writes.h):
        for m in moves.moves:
            height = reads[m.operand].h
            row = int(access[m.operand].first(np.array([y]), height)[0]) + m.tap
            if 0 <= row < height:
                source = inputs[m.operand].reshape(height, -1)[row]
                for i in range(m.count):
                    at = m.source + m.phase(y) * m.phase_step + i * m.source_step
                    to = m.target + i * m.target_step
                    out[y, to : to + m.nbytes] = source[at : at + m.nbytes]
    return out


def checked(
    transform: Transform, *shapes: tuple[int, ...], writes: Rows | None = None
) -> tuple[tuple[Access, ...], Moves]:
    inputs = numbered(shapes)
    index = transform(*inputs)
    reads = [Rows(*s[1:]) for s in shapes]
    writes = writes or Rows(*index.shape[1:])
    access, moves = by_rows(index, reads, writes, fill=3)
    np.testing.assert_array_equal(replay(access, moves, inputs, reads, writes).ravel(), index.ravel())
    return access, moves


def padded(*amounts: tuple[int, int]) -> Transform:
    return lambda x: np.pad(x, ((0, 0), *amounts), constant_values=FILL)


def joined(axis: int) -> Transform:
    return lambda *x: np.concatenate(x, axis)


def depth_to_space(x: Indices) -> Indices:
    return x.reshape(1, 6, 4, 2, 2, -1).transpose(0, 1, 3, 2, 4, 5).reshape(1, 12, 8, -1)


FORMULAS: list[tuple[str, Transform, list[tuple[int, ...]], list[Access], int]] = [
    ("rows above and below", padded((2, 1), (0, 0), (0, 0)), [IMAGE], [Access(-2)], 1),
    ("all around", padded((2, 1), (3, 0), (1, 1)), [IMAGE], [Access(-2)], 1),
    ("one below the other", joined(1), [IMAGE, HALF], [Access(), Access(-6)], 2),
    ("side by side", joined(2), [IMAGE, IMAGE], [Access(), Access()], 2),
    ("channels", joined(3), [IMAGE, IMAGE, IMAGE], [Access()] * 3, 3),
    ("every second row", lambda x: x[:, 1::2], [IMAGE], [Access(1, 2)], 1),
    ("every second channel", lambda x: x[..., ::2], [IMAGE], [Access()], 3),
    ("channels shuffled", lambda x: x[..., [0, 2, 4, 1, 3]], [IMAGE], [Access()], 5),
    ("backwards in a row", lambda x: x[:, :, ::-1], [IMAGE], [Access()], 1),
    ("twice as high", lambda x: x.repeat(2, 1), [IMAGE], [Access(0, 1, 2)], 1),
    ("two rows as one", lambda x: x.reshape(1, 3, 8, 5), [IMAGE], [Access(0, 2, 1, 2)], 2),
    ("depth to space", depth_to_space, [(1, 6, 4, 20)], [Access(0, 1, 2)], 1),
    ("one row again and again", lambda x: x[:, [2, 2, 2]], [IMAGE], [Access(2, 0)], 1),
]


@pytest.mark.parametrize(
    ("transform", "shapes", "expected", "count"), [f[1:] for f in FORMULAS], ids=[f[0] for f in FORMULAS]
)
def test_formulas(transform: Transform, shapes: list[tuple[int, ...]], expected: list[Access], count: int) -> None:
    access, moves = checked(transform, *shapes)
    assert list(access) == expected
    assert len(moves.moves) == count


@pytest.mark.parametrize("backwards", [(), (1,), (2,), (3,), (1, 2, 3)])
@pytest.mark.parametrize("order", [(0, 3, 1, 2), (0, 3, 2, 1), (0, 2, 1, 3), (0, 1, 2, 3)])
def test_rows_are_scattered_to_their_places(order: tuple[int, ...], backwards: tuple[int, ...]) -> None:
    (source,) = numbered([IMAGE])
    index = np.flip(source.transpose(order), backwards)
    out = np.full(index.size, -1, np.int64)
    moves = scattered(index, Rows(*IMAGE[1:]))
    assert len(moves.moves) <= 20
    for y, row in enumerate(source.reshape(6, -1)):
        for m in moves.moves:
            assert m.target_step >= 0
            for i in range(m.count):
                at, to = (
                    m.source + i * m.source_step,
                    m.target + m.phase(np.array(y)) * m.phase_step + i * m.target_step,
                )
                assert (out[to : to + m.nbytes] == -1).all()
                out[to : to + m.nbytes] = row[at : at + m.nbytes]
    np.testing.assert_array_equal(out, index.ravel())


def test_bytes_that_occur_twice_are_not_scattered() -> None:
    with pytest.raises(Irregular):
        scattered(numbered([IMAGE])[0] // 2, Rows(*IMAGE[1:]))


@pytest.mark.parametrize("height", range(2, 40))
def test_a_movement_reads_all_rows_that_it_needs(height: int) -> None:
    """A window that begins before the first row must extend to the last row that is needed."""
    for out in range(1, 40):
        rows = np.arange(out) * height // out  # the rows that RESIZE_NEAREST_NEIGHBOR selects
        index = (2 * rows[:, None] + np.arange(2)).astype(np.int32)
        (access,), _ = by_rows(index, [Rows(height, 1, 2)], Rows(out, 1, 2))
        start = access.first(np.arange(out), height)
        assert (start <= rows).all()
        assert (rows < start + access.extent).all()
