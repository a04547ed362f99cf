"""Compiles object files for tests once. Other tests, workers and runs reuse the files through ccache.

ccache identifies an object by its compiler, flags, source and all headers that were read. ccache also compares
comments, because some compiler warnings depend on comments. Paths are relative to the compiler's working directory, so
that tests in different folders can share objects.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tflm_memopt.emit.embedded import kind_list
from tflm_memopt.emit.kernels import Needs

LINKS = Path("/usr/lib/ccache")
"""Folder in which Debian's ccache has links with the names of all compilers."""
SETTINGS = {
    "CCACHE_DIR": str(Path(tempfile.gettempdir()) / f"tmo_ccache_{os.getuid()}"),
    "CCACHE_BASEDIR": str(Path(tempfile.gettempdir()).resolve()),
    "CCACHE_NOHASHDIR": "1",
    "CCACHE_COMMENTS": "1",
    "CCACHE_DEPEND": "1",  # CCACHE_DEPEND requires -MD.
    "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime",  # Tests write headers immediately before compiling.
    "CCACHE_MAXSIZE": "1G",
    "SKBUILD_BUILD_DIR": "build/native",  # Equal file names let several checkouts share object files.
}


def install() -> None:
    path = os.environ.get("PATH", os.defpath)
    if LINKS.is_dir() and str(LINKS) not in path.split(os.pathsep):
        os.environ.update(SETTINGS, PATH=f"{LINKS}{os.pathsep}{path}")


def part_of(needed: Needs) -> tuple[str, ...]:
    masks = {"PACKINGS": needed.packings, "PARTS": needed.parts}
    return (
        f"-DTMO_KINDS(KIND)={kind_list(needed.kinds)}".replace(" ", ""),
        *(f"-DTMO_{name}={mask:#x}ull" for name, mask in masks.items()),
    )


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """Return what a command prints. Raises AssertionError with the output of a command that fails."""
    around = {**os.environ, **environment}
    done = subprocess.run(command, cwd=cwd, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def objects(command: Sequence[str | Path], sources: Iterable[Path], folder: Path) -> list[Path]:
    """Compile each source to an object file in `folder` that has the source's stem.

    command: compiler command without -c and -o, whose relative paths begin at `folder`. A source that does not compile
    raises AssertionError with the compiler's messages.
    """
    return [_object([*map(str, command)], source, folder) for source in sources]


def _object(command: list[str], source: Path, folder: Path) -> Path:
    made = folder / f"{source.stem}.o"
    # The option -MD lists the headers that were read, for ccache, because TFLM's headers take long to preprocess.
    # GCC frees no memory below 600 MB, because TFLM's headers alone fill 400 MB.
    large = ["-MD", "--param=ggc-min-heapsize=600000"] if "++" in command[0] else []
    whole = [*command, *large, "-c", str(source), "-o", str(made)]
    run(*whole, cwd=folder)
    return made
