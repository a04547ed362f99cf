"""Object files for tests, each compiled once: by the next test or worker, or in the next run, it is only copied.

What is kept (kept.py) is found by a digest of the compiler's version, its flags, and all that it reads: the source with
every header in its place, and its comments, which some warnings look at. A line's number counts, the file's folder does
not.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import kept

_MARKER = re.compile(rb'^(# \d+ ")(?:[^"\n]*/)?([^"/\n]*")', re.MULTILINE)
"""The preprocessor's line numbers, up to the name of the file."""


def objects(command: Sequence[str | Path], sources: Iterable[Path], folder: Path) -> list[Path]:
    """Compiles each source with this command, which lacks -c and -o, to an object file in the folder, with its stem.

    Relative paths are those of the folder. Raises AssertionError with what the compiler said when it refuses a source.
    """
    return [_object([*map(str, command)], source, folder) for source in sources]


def _object(command: list[str], source: Path, folder: Path) -> Path:
    made = folder / f"{source.stem}.o"
    name = f"{digest(command, source, folder)}.o"
    if found := kept.find(name):
        made.write_bytes(found)
    else:
        _run([*command, "-c", str(source), "-o", str(made)], folder)
        kept.keep(name, made.read_bytes())
    return made


def digest(command: Sequence[str], source: Path, folder: Path) -> str:
    """Of all that an object file depends on."""
    read = _run([*command, "-E", "-C", str(source)], folder)
    flags = [word for word in command[1:] if not word.startswith(("-I", "-D"))]  # what they lead to has been read
    key = hashlib.sha256(repr((_version(command[0]), flags, source.suffix)).encode())
    key.update(_MARKER.sub(rb"\1\2", read))
    return key.hexdigest()


def _run(command: Sequence[str], folder: Path) -> bytes:
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr.decode(errors='replace')}"
    return done.stdout


@functools.cache
def _version(compiler: str) -> tuple[str, str]:
    """Two compilers may say the same version."""
    path = os.path.realpath(shutil.which(compiler) or compiler)
    return path, subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
