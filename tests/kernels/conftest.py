"""A sanitized build of the C library, for tests that are C programs."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tflm_memopt.lower.program import Program, pack

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "custom_ops"
FLAGS = (
    "-std=c11 -Wall -Wextra -Wpedantic -Werror -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all "
    "-fno-omit-frame-pointer"
)

Build = Callable[..., Path]


def sample(program: Program | bytes, inputs: NDArray[np.int8], outputs: NDArray[np.int8]) -> bytes:
    """A file for fuzz.c: a good program of one input and one output, what it reads and what it should write."""
    sizes = struct.pack("<4I", 1, 1, inputs.size, outputs.size)
    return sizes + inputs.tobytes() + outputs.tobytes() + (program if isinstance(program, bytes) else pack(program))


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """build(test file, *more sources, without=()): compiles a test of this folder with the library."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs gcc or clang")

    def build(source: str, *more: Path, without: tuple[str, ...] = ()) -> Path:
        program = tmp_path_factory.mktemp("sanitized") / Path(source).stem
        library = [p for p in sorted((LIBRARY / "src").glob("*.c")) if p.name not in without]
        sources = [ROOT / "tests/kernels" / source, *more, *library]
        folders = [f"-I{LIBRARY / 'include'}", f"-I{LIBRARY / 'host'}"]
        command = [str(compiler), *FLAGS.split(), *folders, *map(str, sources), "-o", str(program)]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr
        return program

    return build
