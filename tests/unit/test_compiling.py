"""Object files that ccache hands out are those that would be compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import compiling
import pytest

pytestmark = pytest.mark.skipif(not compiling.LINKS.is_dir(), reason="not installed: ccache")
COMMAND = ("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Iinclude")
FILES = {
    "include/answer.h": "#define ANSWER 42\n",
    "main.c": '#include "answer.h"\nint main(void) { return ANSWER; }\n',
}


@pytest.fixture(autouse=True)
def wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One that says when it is really asked for an object, and nothing that ccache has already."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("gcc", "g++"):
        (folder / name).write_text(
            f'#!/bin/sh\ncase "$*" in *" -c "*) echo >>{tmp_path}/asked;; esac\nexec {_real(name)} "$@"\n'
        )
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(compiling.LINKS), str(folder), os.environ["PATH"])))
    for name, value in compiling.SETTINGS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "ccache"))
    return folder / "gcc"


def _real(name: str) -> str:
    others = [path for path in os.environ["PATH"].split(os.pathsep) if path != str(compiling.LINKS)]
    return str(shutil.which(name, path=os.pathsep.join(others)))


def compiled(folder: Path) -> int:
    """Times that an object was made."""
    asked = folder / "asked"
    return len(asked.read_text().splitlines()) if asked.exists() else 0


def tree(folder: Path, **changed: str) -> Path:
    for name, text in (FILES | changed).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def returned(folder: Path, *command: str) -> int:
    (made,) = compiling.objects(command or COMMAND, [Path("main.c")], folder)
    subprocess.run(["gcc", made, "-o", folder / "main"], check=True)
    return subprocess.run([folder / "main"], check=False).returncode


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_it_is_compiled_once_for_all_folders(tmp_path: Path, compiler: str) -> None:
    """g++ says itself what it reads; of gcc, ccache reads the preprocessed text."""
    command = (compiler, "-Iinclude")
    folders = (tree(tmp_path / name) for name in "aab")
    assert [returned(folder, *command) for folder in folders] == [42, 42, 42]
    assert compiled(tmp_path) == 1


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
@pytest.mark.parametrize(
    ("name", "old", "new", "returns"),
    [("include/answer.h", "42", "7", 7), ("main.c", "ANSWER;", "ANSWER + 1;", 43), ("main.c", "int", "\nint", 42)],
)
def test_another_text_is_another_object(
    tmp_path: Path, compiler: str, name: str, old: str, new: str, returns: int
) -> None:
    assert returned(tree(tmp_path / "a"), compiler, "-Iinclude") == 42
    assert returned(tree(tmp_path / "b", **{name: FILES[name].replace(old, new, 1)}), compiler, "-Iinclude") == returns
    assert compiled(tmp_path) == 2


@pytest.mark.parametrize(("more", "returns", "count"), [("-DANSWERED", 42, 1), ("-Dint=signed", 42, 2)])
def test_a_definition_counts_where_the_text_has_it(tmp_path: Path, more: str, returns: int, count: int) -> None:
    assert returned(tree(tmp_path / "a")) == 42
    assert returned(tree(tmp_path / "b"), *COMMAND, more) == returns
    assert compiled(tmp_path) == count


@pytest.mark.parametrize("more", ["-O2", "-fsanitize=undefined"])
def test_other_flags_are_another_object(tmp_path: Path, more: str) -> None:
    tree(tmp_path)
    compiling.objects(COMMAND, [Path("main.c")], tmp_path)
    compiling.objects((*COMMAND, more), [Path("main.c")], tmp_path)
    assert compiled(tmp_path) == 2


def test_another_compiler_is_another_object(tmp_path: Path, wrapper: Path) -> None:
    assert returned(tree(tmp_path)) == 42
    wrapper.write_text(f"{wrapper.read_text()}# of tomorrow\n")
    assert returned(tmp_path) == 42
    assert compiled(tmp_path) == 2


def test_a_comment_that_a_warning_looks_at_counts(tmp_path: Path) -> None:
    text = "int main(int n, char **v) {\n  (void)v;\n  switch (n) {\n  case 1: n = 2;%s\n  default: return n;\n  }\n}\n"
    assert returned(tree(tmp_path, **{"main.c": text % " /* fall through */"})) == 2
    with pytest.raises(AssertionError, match="implicit-fallthrough"):
        returned(tree(tmp_path, **{"main.c": text % ""}))


def test_what_is_refused_is_refused_again(tmp_path: Path) -> None:
    tree(tmp_path, **{"main.c": "int main(void) { int unused; return 0; }\n"})
    for _ in range(2):
        with pytest.raises(AssertionError, match="unused"):
            returned(tmp_path)
    assert compiled(tmp_path) == 2
