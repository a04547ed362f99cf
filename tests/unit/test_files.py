"""Files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflm_memopt.errors import UsageError
from tflm_memopt.files import write_files


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(UsageError, match=r"cannot write .*taken: .*\n  try: choose another folder"):
        write_files({tmp_path / "taken": b"data"})
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]
