"""Parses C with libclang. Words of the language extension (6.3) become attributes of the syntax tree."""

import bisect
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from clang import cindex

from tflm_memopt.errors import RegisterError
from tflm_memopt.registers.description import SourceLine

Cursor: TypeAlias = Any
"""The Python package of libclang has no types."""
CursorKind: Any = cindex.CursorKind

HERE = Path(__file__).parent
PRELUDE = "prelude.h"
WORDS = "register_words.h"
PLAIN = {"bfGroup": "struct", "interrupt_handler": ""}
LARGEST = 64
_INTEGERS = [f"{sign}{size}" for sign in ("INT", "UINT") for size in (8, 16, 32, 64, "PTR")]
_HEADERS = {
    "stdbool.h": "#ifndef __cplusplus\n#define bool _Bool\n#define true 1\n#define false 0\n#endif\n",
    "stddef.h": "typedef __SIZE_TYPE__ size_t;\ntypedef __PTRDIFF_TYPE__ ptrdiff_t;\n#define NULL ((void *)0)\n",
    "stdint.h": "".join(f"typedef __{name}_TYPE__ {name.lower()}_t;\n" for name in _INTEGERS)
    + "#define UINT8_MAX 255\n#define UINT16_MAX 65535\n#define UINT32_MAX 4294967295u\n",
    WORDS: "",
}
"""Contents of the standard headers that a driver may include, because the libclang package contains no headers."""


_TYPES = "\n".join(f'#define uint{n}[["bits {n}"]] unsigned{" long long" * (n > 32)}' for n in range(1, LARGEST + 1))
_DEVICE = 'static[["device " TMO_TEXT(base)]] bfGroup group *const name = (bfGroup group *)(base)'
_WORDS = f"""\
/* Macros for the words of register descriptions. Files that `tflm-memopt registers` writes do not use the macros.
 * access_type(NAME) takes read_write, read_only, write_only, read_clears, one_clears or zero_clears. */
#ifndef TMO_REGISTER_WORDS_H_
#define TMO_REGISTER_WORDS_H_

#include <stdint.h>

#define bfGroup struct
{_TYPES}
#define bit uint1
#define rse(target)[["rse " #target]]
#define wse(target)[["wse " #target]]
#define access_type(name)[["access " #name]]
#define interrupt_handler[["interrupt"]]
#define make_device(group, name, base) {_DEVICE}

#endif /* TMO_REGISTER_WORDS_H_ */
"""


def words(annotation: str = "") -> str:
    """Return the text of register_words.h, which makes drivers valid C (6.3.4). The text `annotation` replaces
    each attribute in double brackets.
    """
    return re.sub(r"\[\[(.*)\]\]", annotation, _WORDS)


class ParsedFile:
    """The attribute `texts` has the contents of headers, and the parser searches `folders` for other headers."""

    def __init__(
        self, path: Path, text: str, prelude: str, texts: Mapping[str, str] | None = None,
        folders: Sequence[Path] = (),
    ) -> None:  # fmt: skip
        self.path, self.text, self.data = path, text, text.encode()
        language = "c++" if path.suffix in (".cpp", ".cc", ".cxx", ".hpp") else "c"
        standard = "-std=c++11" if language == "c++" else "-std=c11"
        arguments = ["-x", language, standard, "-isystem", str(HERE), "-include", PRELUDE]
        headers = {**_HEADERS, PRELUDE: "#define TMO_TEXT(x) #x\n" + words(r" __attribute__((annotate(\1)))") + prelude}
        files = {str(path): text, **{str(HERE / name): each for name, each in headers.items()}, **(texts or {})}
        self._unit = cindex.Index.create().parse(
            str(path),
            [*arguments, *(f"-I{folder}" for folder in folders), "-Wno-everything"],
            unsaved_files=list(files.items()),
            options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD,
        )
        self._check()

    def _check(self) -> None:
        for said in self._unit.diagnostics:
            if said.severity >= cindex.Diagnostic.Error:
                place = said.location
                raise RegisterError(
                    f"the file is not valid C: {said.spelling}",
                    where=f"{Path(place.file.name).name if place.file else self.path.name}:{place.line}",
                    hint=_unknown_word(said.spelling),
                )

    @property
    def root(self) -> Cursor:
        return self._unit.cursor

    def is_here(self, cursor: Cursor) -> bool:
        return bool(cursor.location.file) and cursor.location.file.name == str(self.path)

    def line(self, cursor: Cursor) -> SourceLine:
        file = cursor.location.file
        return SourceLine(Path(file.name).name if file else self.path.name, cursor.location.line)

    def span(self, cursor: Cursor) -> tuple[int, int]:
        return cursor.extent.start.offset, cursor.extent.end.offset

    def source(self, cursor: Cursor) -> str:
        return self.text_of(self.span(cursor))

    def text_of(self, span: tuple[int, int]) -> str:
        return self.data[slice(*span)].decode()

    @cached_property
    def tokens(self) -> list[tuple[int, int, str]]:
        found = self._unit.get_tokens(extent=self._unit.get_extent(str(self.path), (0, len(self.data))))
        return [(t.extent.start.offset, t.extent.end.offset, t.spelling) for t in found]

    def token_from(self, offset: int) -> str:
        at = bisect.bisect_left(self.tokens, (offset, 0, ""))
        return self.tokens[at][2] if at < len(self.tokens) else ""

    @cached_property
    def macros(self) -> list[tuple[int, int]]:
        found = (cursor for cursor in self.root.get_children() if cursor.kind == CursorKind.MACRO_INSTANTIATION)
        return [self.span(cursor) for cursor in found if self.is_here(cursor) and cursor.spelling not in PLAIN]

    def in_macro(self, cursor: Cursor) -> bool:
        """Return whether the code at `cursor` is part of a macro. Code in a macro cannot be replaced."""
        first, end = self.span(cursor)
        return any(f <= first and end <= e for f, e in self.macros)


def notes(cursor: Cursor) -> list[tuple[str, str]]:
    """Return the words of the language extension at a declaration, with the argument of each word."""
    found = [child.spelling for child in cursor.get_children() if child.kind == CursorKind.ANNOTATE_ATTR]
    return [(text.partition(" ")[0], text.partition(" ")[2]) for text in found]


def _unknown_word(message: str) -> str:
    if re.search(r"unknown type name 'uint\d+'", message):
        return "a field has 1 to 64 bits: use bit, uint1, ... uint64"
    return "name the folder of the driver's headers with -I; a description uses the words of register_words.h"
