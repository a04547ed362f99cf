"""Object files for tests, each compiled once: the next test or worker, or the next run, has it from ccache.

ccache finds an object by its compiler, flags, source and all headers that were read, comments included, at which some
warnings look. Paths below the folder of temporary files count as they are seen from where the compiler runs, so that
equal files of two tests are one.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tflm_memopt.emit.kernels import Needs

LINKS = Path("/usr/lib/ccache")
"""Where Debian's ccache has the names of all compilers."""
SETTINGS = {
    "CCACHE_DIR": str(Path(tempfile.gettempdir()) / f"tmo_ccache_{os.getuid()}"),
    "CCACHE_BASEDIR": str(Path(tempfile.gettempdir()).resolve()),
    "CCACHE_NOHASHDIR": "1",
    "CCACHE_COMMENTS": "1",
    "CCACHE_DEPEND": "1",  # with -MD
    "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime",  # tests write headers just before they are read
    "CCACHE_MAXSIZE": "1G",
    "SKBUILD_BUILD_DIR": "build/native",  # from there, the sources of all checkouts have the same names
}
"""What ccache reads from the environment, and where packages are built."""


def install() -> None:
    """Whoever calls a compiler by its name, in this process or one that it starts, calls ccache, where that is."""
    path = os.environ.get("PATH", os.defpath)
    if LINKS.is_dir() and str(LINKS) not in path.split(os.pathsep):
        os.environ.update(SETTINGS, PATH=f"{LINKS}{os.pathsep}{path}")


def part_of(needed: Needs) -> tuple[str, ...]:
    """Flags that compile the library's files with these kernels and parts only."""
    masks = {"KINDS": needed.kinds, "PACKINGS": needed.packings, "PARTS": needed.parts}
    return tuple(f"-DTMO_{name}={mask:#x}ull" for name, mask in masks.items())


def objects(command: Sequence[str | Path], sources: Iterable[Path], folder: Path) -> list[Path]:
    """Compiles each source with this command, which lacks -c and -o, to an object file in the folder, with its stem.

    Relative paths are those of the folder. Raises AssertionError with what the compiler said when it refuses a source.
    """
    return [_object([*map(str, command)], source, folder) for source in sources]


def _object(command: list[str], source: Path, folder: Path) -> Path:
    made = folder / f"{source.stem}.o"
    # TFLM's headers take half a second to preprocess: with -MD ccache learns from the compiler which ones it read. They
    # fill 400 MB, which GCC would go through for garbage again and again.
    large = ["-MD", "--param=ggc-min-heapsize=600000"] if "++" in command[0] else []
    whole = [*command, *large, "-c", str(source), "-o", str(made)]
    done = subprocess.run(whole, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return made
