"""Finds the C compiler of this machine."""

import os
import shlex
import shutil

from tflm_memopt.errors import RuntimeUnavailable

COMPILERS = ("cc", "gcc", "clang")


def compiler() -> tuple[str, ...]:
    """Return the command $CC, or a compiler that is installed. Raises RuntimeUnavailable without a compiler."""
    command = tuple(shlex.split(os.environ.get("CC", ""))) or next(((c,) for c in COMPILERS if shutil.which(c)), ())
    if not command or not shutil.which(command[0]):
        raise RuntimeUnavailable(
            f"no C compiler is installed: {command[0] if command else ', '.join(COMPILERS)}",
            hint="install gcc or clang, or set CC (Debian: apt-get install gcc)",
        )
    return command
