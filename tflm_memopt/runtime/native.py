"""Finds the compiled host libraries and the C compiler of this machine."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from tflm_memopt.errors import RuntimeUnavailable

DISTRIBUTION = "tflm-memopt"
COMPILERS = ("cc", "gcc", "clang")


def file_name(name: str) -> str:
    if sys.platform == "win32":
        return f"{name}.dll"
    return f"lib{name}.dylib" if sys.platform == "darwin" else f"lib{name}.so"


def native_library(name: str) -> Path:
    """Return the path of a compiled library: "tmo_host" (the C executor) or "tmo_wheel_shim" (for TFLM's wheel).

    The libraries of an editable install are in site-packages, so the installer's list of files is searched, too. Raises
    RuntimeUnavailable if the package was installed without a C and C++ compiler.
    """
    file = file_name(name)
    packaged = Path(__file__).with_name(file)
    if packaged.is_file():
        return packaged
    for installed in _installed_files():
        if installed.name == file and installed.is_file():
            return installed
    raise RuntimeUnavailable(
        f"the compiled library {file} is not installed",
        where=str(packaged.parent),
        hint="install a C and a C++ compiler (Debian: apt-get install g++), then install tflm-memopt again "
        "(in a checkout: make build)",
    )


def _installed_files() -> list[Path]:
    from importlib import metadata  # noqa: PLC0415

    try:
        files = metadata.files(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return []
    return [Path(str(file.locate())) for file in files or ()]


def compiler() -> tuple[str, ...]:
    command = tuple(shlex.split(os.environ.get("CC", ""))) or next(((c,) for c in COMPILERS if shutil.which(c)), ())
    if not command or not shutil.which(command[0]):
        raise RuntimeUnavailable(
            f"no C compiler is installed: {command[0] if command else ', '.join(COMPILERS)}",
            hint="install gcc or clang, or set CC (Debian: apt-get install gcc)",
        )
    return command
