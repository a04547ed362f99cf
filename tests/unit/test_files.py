"""Files are written whole or not at all."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from tflm_memopt.errors import ModelError, UsageError
from tflm_memopt.files import read_file, read_model, write_file
from tflm_memopt.model import flatbuffer


def test_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "model.tflite"
    write_file(path, b"one")
    write_file(path, b"two")
    assert read_file(path) == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["model.tflite"]


@pytest.mark.parametrize(
    ("start", "code"),
    [
        (b"\0" * 64, "not_a_model"),
        (flatbuffer.GIT_LFS + b"oid", "not_a_model"),
        (b"\0" * 4 + b"TFL3", "not_a_model"),
    ],
    ids=["no model", "Git LFS", "too long"],
)
def test_what_begins_like_no_model_is_not_read(tmp_path: Path, start: bytes, code: str) -> None:
    """The file is 4 GB, mostly a hole; reading all of it would exceed this test's memory limit."""
    path = tmp_path / "large.tflite"
    with path.open("wb") as file:
        file.write(start)
        file.truncate(1 << 32)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + (1 << 30), limits[1]))
    try:
        with pytest.raises(ModelError) as raised:
            read_model(path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert raised.value.code == code


def _address_space() -> int:
    """Address space of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(UsageError, match=r"cannot write .*taken: .*\n  try: choose another folder"):
        write_file(tmp_path / "taken", b"data")
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]
