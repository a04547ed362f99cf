"""Object files that are kept are those that would be compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import compiling
import kept
import pytest

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
COMMAND = ("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Iinclude")
FILES = {
    "include/answer.h": "#define ANSWER 42\n",
    "main.c": '#include "answer.h"\nint main(void) { return ANSWER; }\n',
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty place for objects."""
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "kept")
    kept.folder.cache_clear()
    yield tmp_path / "kept"
    kept.folder.cache_clear()


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that a compiler was really asked for."""
    seen = []

    def run(command: list[str], folder: Path) -> bytes:
        if "-c" in command:
            seen.append(command[-3])
        return plain(command, folder)

    plain = compiling._run
    monkeypatch.setattr(compiling, "_run", run)
    return seen


def tree(folder: Path, **changed: str) -> Path:
    for name, text in (FILES | changed).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def returned(folder: Path, *command: str) -> int:
    (made,) = compiling.objects(command or COMMAND, [Path("main.c")], folder)
    subprocess.run(["gcc", made, "-o", folder / "main"], check=True)
    return subprocess.run([folder / "main"], check=False).returncode


def test_it_is_compiled_once_for_all_folders(tmp_path: Path, compiled: list[str]) -> None:
    assert returned(tree(tmp_path / "a")) == returned(tree(tmp_path / "a")) == returned(tree(tmp_path / "b")) == 42
    assert len(compiled) == 1


@pytest.mark.parametrize(
    ("name", "old", "new", "returns"),
    [("include/answer.h", "42", "7", 7), ("main.c", "ANSWER;", "ANSWER + 1;", 43), ("main.c", "int", "\nint", 42)],
)
def test_another_text_is_another_object(
    tmp_path: Path, compiled: list[str], name: str, old: str, new: str, returns: int
) -> None:
    assert returned(tree(tmp_path / "a")) == 42
    assert returned(tree(tmp_path / "b", **{name: FILES[name].replace(old, new, 1)})) == returns
    assert len(compiled) == 2


@pytest.mark.parametrize(("more", "returns", "count"), [("-DANSWERED", 42, 1), ("-Dint=signed", 42, 2)])
def test_a_definition_counts_where_the_text_has_it(
    tmp_path: Path, compiled: list[str], more: str, returns: int, count: int
) -> None:
    assert returned(tree(tmp_path / "a")) == 42
    assert returned(tree(tmp_path / "b"), *COMMAND, more) == returns
    assert len(compiled) == count


@pytest.mark.parametrize("more", ["-O2", "-fsanitize=undefined"])
def test_other_flags_are_another_object(tmp_path: Path, compiled: list[str], more: str) -> None:
    tree(tmp_path)
    compiling.objects(COMMAND, [Path("main.c")], tmp_path)
    compiling.objects((*COMMAND, more), [Path("main.c")], tmp_path)
    assert len(compiled) == 2


def test_another_compiler_is_another_object(tmp_path: Path) -> None:
    tree(tmp_path)
    other = tmp_path / "gcc-of-tomorrow"
    other.write_text('#!/bin/sh\n[ "$1" = --version ] && echo tomorrow || exec gcc "$@"\n')
    other.chmod(0o755)
    digests = {compiling.digest([name, "-Iinclude"], Path("main.c"), tmp_path) for name in ("gcc", str(other))}
    assert len(digests) == 2


def test_a_comment_that_a_warning_looks_at_counts(tmp_path: Path) -> None:
    text = "int main(int n, char **v) {\n  (void)v;\n  switch (n) {\n  case 1: n = 2;%s\n  default: return n;\n  }\n}\n"
    assert returned(tree(tmp_path, **{"main.c": text % " /* fall through */"})) == 2
    with pytest.raises(AssertionError, match="implicit-fallthrough"):
        returned(tree(tmp_path, **{"main.c": text % ""}))


def test_what_is_refused_is_refused_again(tmp_path: Path, folder: Path) -> None:
    tree(tmp_path, **{"main.c": "int main(void) { int unused; return 0; }\n"})
    for _ in range(2):
        with pytest.raises(AssertionError, match="unused"):
            returned(tmp_path)
    assert not list(folder.iterdir())


def test_what_nobody_asks_for_is_deleted(tmp_path: Path, folder: Path) -> None:
    assert returned(tree(tmp_path)) == 42
    (made,) = folder.iterdir()
    os.utime(made, (0, 0))
    kept.folder.cache_clear()
    kept.folder()
    assert not list(folder.iterdir())
