"""Compiles each object file of the tests once, because ccache keeps the file."""

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tflm_memopt.emit.embedded import kind_list
from tflm_memopt.emit.kernels import Needs

LINKS = Path("/usr/lib/ccache")
SETTINGS = {
    "CCACHE_DIR": str(Path(tempfile.gettempdir()) / f"tmo_ccache_{os.getuid()}"),
    "CCACHE_BASEDIR": str(Path(tempfile.gettempdir()).resolve()),
    "CCACHE_NOHASHDIR": "1",
    "CCACHE_COMMENTS": "1",
    "CCACHE_DEPEND": "1",
    "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime",  # ccache accepts headers that were just written
    "CCACHE_MAXSIZE": "1G",
    "SKBUILD_BUILD_DIR": "build/native",
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
    around = {**os.environ, **environment}
    done = subprocess.run(command, cwd=cwd, env=around, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def objects(command: Sequence[str | Path], sources: Iterable[Path], folder: Path) -> list[Path]:
    return [_object([*map(str, command)], source, folder) for source in sources]


def _object(command: list[str], source: Path, folder: Path) -> Path:
    made = folder / f"{source.stem}.o"
    # With -MD, ccache gets the list of headers from GCC and need not preprocess TFLM's large headers. GCC's garbage
    # collector starts only at 600 MB of memory, because TFLM's headers alone take 400 MB.
    large = ["-MD", "--param=ggc-min-heapsize=600000"] if "++" in command[0] else []
    whole = [*command, *large, "-c", str(source), "-o", str(made)]
    run(*whole, cwd=folder)
    return made
