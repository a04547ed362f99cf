"""The C library's sources, as projects take them: as they are, or in the one flat folder that Arduino wants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import tflm_memopt
from tflm_memopt.errors import RuntimeUnavailable

PACKAGE = Path(__file__).parents[1]
PLACES = (PACKAGE / "custom_ops", PACKAGE.parent / "custom_ops")
"""Where the sources are in an installed package, and in a checkout."""
FOLDERS = ("include", "src", "tflm")
SUFFIXES = {".h", ".def", ".c", ".cpp", ".S"}
PUBLIC = ("include/tmo/tmo.h", "include/tmo/camera.h", "include/tmo/turns.h", "tflm/tmo_tflm.h")
"""What sketches call: words for keywords.txt."""

PROPERTIES = f"""\
name=tflm-memopt
version={tflm_memopt.__version__}
author=tflm-memopt contributors
maintainer=tflm-memopt contributors
sentence=TensorFlow Lite Micro models in a fraction of the RAM, with the same output bits.
paragraph=Runs models that tflm-memopt rewrote: one operator keeps a few rows of every tensor instead of all of it.
category=Data Processing
url=https://github.com/tflm-memopt/tflm-memopt
architectures=*
depends=Chirale_TensorFLowLite
includes=tflm_memopt.h
"""


def folder() -> Path:
    """Where the sources are. Raises RuntimeUnavailable when the package came without them."""
    for place in PLACES:
        if place.is_dir():
            return place
    raise RuntimeUnavailable(
        "the sources of the C library are not installed",
        code="no_sources",
        where=str(PLACES[0]),
        hint="install tflm-memopt again, from its wheel or a checkout",
    )


def sources(*manifests: str) -> Mapping[str, str]:
    """Path below custom_ops/ -> content: what is compiled for a device, and the named files beside it."""
    root = folder()
    code = (path for part in FOLDERS for path in sorted((root / part).rglob("*")) if path.suffix in SUFFIXES)
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in (*code, *(root / m for m in manifests))
    }


def arduino() -> Mapping[str, str]:
    """The same as an Arduino library, by path. Arduino compiles all that is below src/, the only include folder."""
    code = sources()
    files = {
        "library.properties": PROPERTIES,
        "keywords.txt": _keywords(code),
    }
    for path, text in code.items():
        name = f"src/{path.partition('/')[2]}"
        if name in files:
            raise ValueError(f"two sources would become {name}: Arduino has one folder for all")
        files[name] = text
    return files


def _keywords(code: Mapping[str, str]) -> str:
    """keywords.txt: the words that the IDE colours."""
    plain = re.sub(r"/\*.*?\*/", "", "\n".join(code[name] for name in PUBLIC), flags=re.DOTALL)
    types = re.findall(r"^(?:typedef .*|\}) (\w+);$", plain, re.MULTILINE)
    types += re.findall(r"^using (\w+) =", plain, re.MULTILINE)
    functions = re.findall(r"^[\w \*]+?\b\*?(tmo_\w+|[A-Z]\w+)\(", plain, re.MULTILINE)
    functions += re.findall(r"^auto (\w+)\(", plain, re.MULTILINE)
    constants = re.findall(r"^ +(TMO_\w+) = ", plain, re.MULTILINE)
    kinds = (("KEYWORD1", types), ("KEYWORD2", functions), ("LITERAL1", constants))
    return "".join(f"{word}\t{kind}\n" for kind, words in kinds for word in dict.fromkeys(words))
