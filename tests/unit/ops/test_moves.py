"""If the bytes of a row are too irregular for the kernel COPY, the converter refuses the operator early."""

from typing import Any

import numpy as np
import pytest

from tflm_memopt.ops import moves
from tflm_memopt.ops.rowop import Rows


def test_a_row_of_many_runs_is_refused_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """A TRANSPOSE of a tall tensor makes each output row from one byte of every input row."""
    phases, found = moves._phases, list[int]()

    def counted(*arguments: Any) -> tuple[int, int, int, int]:
        found.append(1)
        return phases(*arguments)

    monkeypatch.setattr(moves, "_phases", counted)
    tall = Rows(2000, 1, 8)
    index = np.arange(tall.nbytes, dtype=np.int32).reshape(tall.h, tall.c).T
    with pytest.raises(moves.Irregular, match="runs of bytes"):
        moves.by_rows(index, [tall], Rows(8, 1, tall.h))
    assert len(found) <= moves.MAX_MOVES + 1
