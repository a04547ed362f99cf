"""Adds the licence text and SPDX lines to written files."""

from collections.abc import Mapping

from tflm_memopt.emit import library

FILE = "LICENSE"
LINE = "// SPDX-License-Identifier: Apache-2.0\n"
SUFFIXES = (".c", ".cpp", ".h", ".ino")


def license_text() -> str:
    places = (library.folder(), library.folder().parent)
    return next(place / FILE for place in places if (place / FILE).is_file()).read_text(encoding="utf-8")


def marked(texts: Mapping[str, str]) -> dict[str, str]:
    r"""Add an SPDX line to each C and C++ file that has none. Add a licence text beside each NAME_library.c. In a
    project, the folder of the C library contains the licence text.

    >>> marked({"net.c": "int x;", "net.json": "{}"})
    {'net.c': '// SPDX-License-Identifier: Apache-2.0\nint x;', 'net.json': '{}'}
    """
    made = dict(texts)
    for name, text in texts.items():
        if name.endswith(SUFFIXES) and "SPDX-License-Identifier" not in text.partition("\n")[0]:
            made[name] = LINE + text
        if name.endswith("_library.c") and "/" not in name:
            made[f"{name.removesuffix('.c')}.{FILE}"] = license_text()
    return made
