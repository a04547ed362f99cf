"""Checks a library against the rules of Arduino's library manager: those of arduino-lint for submission, strict.

    python scripts/arduino_rules.py [FOLDER]     lists the rules that a library breaks; exits with 1 if there are any

The default FOLDER is build/arduino/tflm-memopt, which `make arduino` writes.

The numbers are arduino-lint's, so that its documentation explains them. It omits rules that need a network or the
library manager's index (LP017, LP018, LP022, LP042, LP048), the spelling rules (LP033, LP035), what is of the format
before library.properties, and advice that is never an error (LS008).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

REQUIRED = {
    "name": "LP007",
    "version": "LP019",
    "author": "LP023",
    "maintainer": "LP025",
    "sentence": "LP031",
    "paragraph": "LP034",
    "category": "LP037",
    "url": "LP040",
    "architectures": "LP043",
}
"""For each field, the rule that requires it."""
NOT_EMPTY = {
    "name": "LP008",
    "author": "LP024",
    "maintainer": "LP026",
    "sentence": "LP032",
    "url": "LP056",
    "architectures": "LP044",
    "includes": "LP051",
    "ldflags": "LP055",
}
"""For each optional field, the rule that it must not be empty."""
KNOWN = {*REQUIRED, "depends", "dot_a_linkage", "includes", "precompiled", "ldflags"}
CATEGORIES = (
    "Communication", "Data Processing", "Data Storage", "Device Control", "Display", "Other", "Sensors",
    "Signal Input/Output", "Timing",
)  # fmt: skip
FLAGS = {"dot_a_linkage": ("LP049", ("true", "false")), "precompiled": ("LP053", ("true", "full", "false"))}
FOLDERS = {"src": "LS009", "extras": "LS012", "examples": "LD006"}
"""For each folder, the rule against similar names."""
HEADERS = (".h", ".hh", ".hpp")

NAME = r"(?=[^,(]*[A-Za-z])[A-Za-z0-9][A-Za-z0-9_ .-]*"
CONSTRAINT = r"(?:\([<>=!&|^~() \d.]+\))?"
SEMVER = r"(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?"


@dataclass(frozen=True)
class Library:
    """`files`: paths below the folder, with slashes."""

    folder: Path
    files: frozenset[str]
    fields: Mapping[str, str]
    """Properties in library.properties."""

    def tops(self) -> set[str]:
        """Return the names of the folders at the top."""
        return {name.partition("/")[0] for name in self.files if "/" in name}


Found = Iterator[tuple[str, str]]
"""Numbers of broken rules, and how they are broken."""


def broken(folder: Path) -> list[str]:
    """Return the rules that a library breaks, a line each; none if the library manager would accept it."""
    rules: Iterable[Callable[[Library], Found]] = (_structure, _fields, _name, _values, _sources, _documents)
    properties = folder / "library.properties"
    if not properties.is_file():
        return ["LP001: library.properties is missing"]
    lines = [line for line in properties.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    if wrong := [line for line in lines if "=" not in line]:
        return [f"LP005: '{line}' is no NAME=VALUE" for line in wrong]
    paths = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()]
    library = Library(folder, frozenset(paths), {k.strip(): v.strip() for k, _, v in (x.partition("=") for x in lines)})
    return sorted(f"{number}: {how}" for rule in rules for number, how in rule(library))


def _structure(library: Library) -> Found:
    """Check files and folders."""
    name, top = library.folder.name, library.tops()
    if not any(n.startswith("src/") and n.count("/") == 1 and n.endswith(HEADERS) for n in library.files):
        yield "LS001", "no header in src/"
    if len(name) > 63:
        yield "LS002", f"the folder's name '{name}' has more than 63 characters"
    if not re.fullmatch(r"\w[\w.-]*", name, re.ASCII):
        yield "LS003", f"the folder's name '{name}' has other characters than letters, digits, _ . -"
    for number, file in (("LS004", ".gitmodules"), ("LS006", ".development")):
        if file in library.files:
            yield number, f"{file} is in the library"
    yield from (("LS005", f"{p} is a symbolic link") for p in library.folder.rglob("*") if p.is_symlink())
    yield from (("LS007", f"{file} is a program") for file in library.files if file.endswith(".exe"))
    for folder, number in FOLDERS.items():
        yield from ((number, f"{t}/ should be {folder}/") for t in top if t.lower() == folder and t != folder)
    for folder, number in (("extra", "LS011"), ("example", "LD005")):
        yield from ((number, f"{t}/ should be {folder}s/") for t in top if t.lower() == folder)
    if "utility" in top:
        yield "LS010", "utility/ beside src/ is not compiled"


def _fields(library: Library) -> Found:
    """Check the fields that library.properties has."""
    fields = library.fields
    yield from ((number, f"{field} is missing") for field, number in REQUIRED.items() if field not in fields)
    yield from ((number, f"{field} is empty") for field, number in NOT_EMPTY.items() if fields.get(field) == "")
    yield from (("LP006", f"{field} is no field") for field in fields if field not in KNOWN)
    if "src/library.properties" in library.files:
        yield "LP004", "src/library.properties is there, too"


def _name(library: Library) -> Found:
    name, maintainer = library.fields.get("name", ""), library.fields.get("maintainer", "")
    if len(name) > 32:
        yield "LP010", f"name has more than 32 characters: {name}"
    if name and not re.fullmatch(NAME, name, re.ASCII):
        yield (
            "LP011",
            f"name has other characters than letters, digits, space _ . -, or begins with one of these: {name}",
        )
    if name.lower().startswith("arduino"):
        yield "LP012", f"name begins with Arduino: {name}"
    elif "arduino" in name.lower():
        yield "LP014", f"name contains Arduino: {name}"
    if " " in name:
        yield "LP015", f"name has spaces: {name}"
    if "library" in name.lower():
        yield "LP016", f"name contains library: {name}"
    if maintainer.lower().startswith("arduino"):
        yield "LP027", f"maintainer begins with Arduino: {maintainer}"
    elif "arduino" in maintainer.lower():
        yield "LP057", f"maintainer contains Arduino: {maintainer}"


def _values(library: Library) -> Found:
    """Check the contents of the other fields."""
    fields = library.fields
    if "version" in fields and not re.fullmatch(SEMVER, fields["version"], re.ASCII):
        yield "LP021", f"version is not semantic: {fields['version']}"
    if fields.get("sentence") and fields.get("paragraph", "").startswith(fields["sentence"]):
        yield "LP036", "paragraph repeats sentence: the library manager shows both"
    if fields.get("category", "Other") not in CATEGORIES:
        yield "LP038", f"category is none of {', '.join(CATEGORIES)}: {fields['category']}"
    if fields.get("url") and not re.fullmatch(r"https?://[^\s/]+\.[^\s/]+(?:/\S*)?", fields["url"]):
        yield "LP041", f"url is no address: {fields['url']}"
    for architecture in filter(None, map(str.strip, fields.get("architectures", "").split(","))):
        if architecture != architecture.lower() and architecture != "nRF5":
            yield "LP046", f"architecture has capitals: {architecture}"
    for dependency in filter(None, map(str.strip, fields.get("depends", "").split(","))):
        if not re.fullmatch(rf"{NAME}{CONSTRAINT}", dependency, re.ASCII):
            yield "LP047", f"depends has what is no library's name: {dependency}"
    for field, (number, values) in FLAGS.items():
        if fields.get(field, values[0]) not in values:
            yield number, f"{field} is none of {', '.join(values)}: {fields[field]}"
    for header in filter(None, map(str.strip, fields.get("includes", "").split(","))):
        if f"src/{header}" not in library.files:
            yield "LP052", f"includes names {header}, which src/ does not have"


def _sources(library: Library) -> Found:
    for name in sorted(library.files):
        if name.endswith((*HEADERS, ".c", ".cpp", ".ino")):
            text = (library.folder / name).read_text(encoding="utf-8", errors="replace")
            for header in re.findall(r"^\s*#\s*include\s*[<\"](arduino\.h)[>\"]", text, re.MULTILINE | re.IGNORECASE):
                if header != "Arduino.h":
                    yield "LC001", f"{name} includes {header}: it is Arduino.h"
        if name.endswith((".ino", ".pde")) and name.partition("/")[0] not in ("examples", "extras"):
            yield "LD003", f"{name} is a sketch outside of examples/"


def _documents(library: Library) -> Found:
    top = {name.lower() for name in library.files if "/" not in name}
    if not any(re.fullmatch(r"readme\.(md|markdown|rst|adoc|txt)", name) for name in top):
        yield "LD001", "no readme"
    if not any(re.fullmatch(r"(un)?licen[sc]e(\.(md|txt|html))?", name) for name in top):
        yield "LD002", "no licence"
    if not any(re.fullmatch(r"examples/(?:.*/)?(\w[\w.-]*)/\1\.ino", name) for name in library.files):
        yield "LD004", "no examples"


def main(arguments: list[str]) -> int:
    found = [
        line
        for folder in arguments or [str(ROOT / "build/arduino/tflm-memopt")]
        for line in broken(Path(folder).resolve())
    ]
    print("\n".join(found or ["no rule is broken"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
