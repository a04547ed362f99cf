import ctypes
import shutil
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiling import objects, run
from numpy.typing import NDArray

from tflm_memopt.lower.program import Program
from tflm_memopt.lower.serialise import pack
from tflm_memopt.runtime.native import native_library

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "custom_ops"
FLAGS = (
    "-std=c11 -Wall -Wextra -Wpedantic -Werror -g1 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all "
    "-fno-omit-frame-pointer"
)
SANITIZED = f"gcc {FLAGS}"
PLAIN = "gcc -std=gnu11 -O2 -pthread"
WATCHED = "gcc -std=gnu11 -Wall -Wextra -Werror -O1 -g1 -fno-builtin -fsanitize=thread -pthread"
INCLUDE = tuple(f"-I{LIBRARY / folder}" for folder in ("include", "src", "host"))

Build = Callable[..., Path]


def sample(program: Program | bytes, inputs: Sequence[NDArray[Any]], outputs: Sequence[NDArray[Any]]) -> bytes:
    data = [np.ascontiguousarray(values).tobytes() for values in (*inputs, *outputs)]
    sizes = struct.pack(f"<{2 + len(data)}I", len(inputs), len(outputs), *map(len, data))
    return b"".join([sizes, *data, program if isinstance(program, bytes) else pack(program)])


DSP = ROOT / "tests/kernels/backends/dsp.c", ("-DTMO_CORE_DSP=1",)
THREADS = LIBRARY / "host/tmo_threads.c"
SOURCES = tuple(sorted((LIBRARY / "src").glob("*.c")))


def compiled(command: str, source: str, program: Path, *more: Path, library: Sequence[Path] = SOURCES) -> Path:
    sources = [ROOT / "tests/kernels" / source, *more, *library]
    made = program.parent / f"{program.stem}_objects"
    made.mkdir()
    run(*command.split(), *objects([*command.split(), *INCLUDE], sources, made), "-o", program, "-lm")
    return program


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Build:
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs gcc or clang")

    def build(source: str, *more: Path, library: Sequence[Path] = SOURCES, flags: Sequence[str] = ()) -> Path:
        program = tmp_path_factory.mktemp("sanitized") / Path(source).stem
        return compiled(" ".join([compiler, FLAGS, *flags]), source, program, *more, library=library)

    return build


@pytest.fixture(scope="session")
def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(native_library("tmo_host")))
