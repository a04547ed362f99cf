"""Measures the machine code that a compiler generates for a driver."""

from __future__ import annotations

import shlex
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tflm_memopt.errors import RegisterError

_ELF, _EXECUTABLE, _NO_BYTES = b"\x7fELF", 0x4, 8
"""ELF's magic number, the flag of sections with code, and the type of sections without bytes in the file."""

FLAGS = ("-Os", "-ffreestanding")
"""Compiler flags without which <stdint.h> may be missing, since cross compilers may lack a C library."""


def measure(compiler: str, driver: str, files: Mapping[str, str], folders: Iterable[Path]) -> int:
    """Return the size of a driver's code at -Os in bytes. compiler: with flags. Raises RegisterError if it fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        made = folder / "driver.o"
        command = [*shlex.split(compiler), *FLAGS, *(f"-I{path}" for path in folders), "-c", str(folder / driver)]
        try:
            done = subprocess.run([*command, "-o", str(made)], capture_output=True, text=True, check=False)
            said = _complaint(done.stderr) or f"exit code {done.returncode}" if done.returncode else ""
        except OSError as error:
            said = str(error.strerror)
        data = made.read_bytes() if made.exists() else b""
    if said or not data.startswith(_ELF):
        raise RegisterError(
            f"the compiler wrote no ELF file for the driver: {said or 'another format'}",
            where=compiler,
            hint="add -I with the folders of missing headers, or use a compiler that has them",
        )
    return sum(_sections(data))


def _complaint(said: str) -> str:
    """Return the compiler's error line without the lines about includes."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if "error:" in line), lines[0] if lines else "")


def _sections(data: bytes) -> Iterator[int]:
    """Yield the bytes of each section with code in a little-endian ELF file."""
    is_64 = data[4] == 2
    offset, each, count = struct.unpack_from("<Q10xHH" if is_64 else "<I10xHH", data, 40 if is_64 else 32)
    for index in range(count):
        layout = "<4xIQ8x8xQ" if is_64 else "<4xIII4xI"
        fields = struct.unpack_from(layout, data, offset + index * each)
        kind, flags, size = fields[0], fields[1], fields[-1]
        if flags & _EXECUTABLE and kind != _NO_BYTES:
            yield size
