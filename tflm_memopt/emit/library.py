"""Reads the C library's sources for projects. An Arduino library has all sources in a single folder."""

from collections.abc import Mapping
from pathlib import Path

from tflm_memopt.errors import RuntimeUnavailable

PACKAGE = Path(__file__).parents[1]
PLACES = (PACKAGE, PACKAGE.parent)
"""Folders that may contain custom_ops/ and arduino/: the folder of the installed package, and the checkout."""
FOLDERS = ("include", "src", "tflm")
INCLUDED = ("include", "src")
SUFFIXES = {".h", ".def", ".c", ".cpp", ".S"}


def folder() -> Path:
    """Return the folder of the C library's sources. Raises RuntimeUnavailable if the folder is missing."""
    for place in PLACES:
        if (found := place / "custom_ops").is_dir():
            return found
    raise RuntimeUnavailable(
        "the sources of the C library are not installed",
        where=str(PLACES[0] / "custom_ops"),
        hint="reinstall tflm-memopt from its wheel or a checkout",
    )


def include_flags() -> tuple[str, ...]:
    return tuple(f"-I{folder() / part}" for part in INCLUDED)


def sources(*manifests: str) -> Mapping[str, str]:
    root = folder()
    code = (path for part in FOLDERS for path in sorted((root / part).rglob("*")) if path.suffix in SUFFIXES)
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in (*code, *(root / m for m in manifests))
    }


def arduino() -> Mapping[str, str]:
    """Return the files of the Arduino library by path. The Arduino tools compile all files in src/, and search for
    headers in no other folder.
    """
    manifest = folder().parent / "arduino/library.properties"
    files = {manifest.name: manifest.read_text(encoding="utf-8")}
    for path, text in sources().items():
        name = f"src/{path.partition('/')[2]}"
        if name in files:
            raise ValueError(f"two sources would become {name}: Arduino has one folder for all")
        files[name] = text
    return files
