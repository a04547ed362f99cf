"""Files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tflm_memopt.errors import UsageError
from tflm_memopt.files import read_file, write_file


def test_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "model.tflite"
    write_file(path, b"one")
    write_file(path, b"two")
    assert read_file(path) == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["model.tflite"]


def test_readable_like_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_file(tmp_path / "ours", b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(UsageError, match=r"cannot write .*taken: .*\n  try: another folder"):
        write_file(tmp_path / "taken", b"data")
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="cannot write"):
        write_file(tmp_path / "file" / "model.tflite", b"data")


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*nothing: No such file"):
        read_file(tmp_path / "nothing")
