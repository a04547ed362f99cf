"""Reads a model from an array of bytes in C or C++ source: `unsigned char g_model[] = {0x1c, 0x00, ...};`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tflm_memopt.errors import ModelError
from tflm_memopt.model.flatbuffer import HEADER_BYTES, IDENTIFIER

SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".ino", ".inc")
MOST_SOURCE_BYTES = 1 << 26
"""Limit of the size of a source file in bytes. A byte of the model takes about six characters."""
HINT = "give the .tflite file, or C source as xxd -i or `optimize` writes it"

_NO_CODE = re.compile(
    rb"^[ \t]*#(?:\\\n|[^\n])*|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|//[^\n]*|/\*.*?(?:\*/|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""Matches directives, strings and comments. Unfinished strings and comments match, too, so that damaged files are also
read in linear time.
"""
_STATEMENT = re.compile(rb"[^;{}]*")
_ATTRIBUTE = re.compile(rb"\[\[.*?\]\]", re.DOTALL)
_BYTE = re.compile(rb"\b(?:char|u?int8_t|byte|uchar)\b", re.IGNORECASE)
_NAME = re.compile(rb"[A-Za-z_]\w*\Z")
_NUMBER = re.compile(rb"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)[uUlL]*")
_LONGEST = 20
"""Longest number, in characters."""


@dataclass(frozen=True, slots=True)
class _Array:
    name: str
    length: str
    body: bytes
    whole: bool
    """Whether the array's closing brace was found."""

    @property
    def is_model(self) -> bool:
        start = self.body[: HEADER_BYTES * _LONGEST].split(b",")[:HEADER_BYTES]
        return bytes(max(0, _value(item)) for item in start)[4:] == IDENTIFIER

    def values(self) -> bytes:
        items = self.body.split(b",")
        if not items[-1].strip():
            items.pop()  # a comma may follow the last number
        if self.length.isdecimal() and int(self.length[:_LONGEST]) < len(items):
            raise self.damaged(f"{len(items):,} numbers in [{self.length}]")
        try:
            return bytes(int(item, 0) for item in items)
        except ValueError:  # the item is a negative or octal number, has a suffix, or is invalid
            return bytes(self._checked(k, item) for k, item in enumerate(items))

    def _checked(self, number: int, item: bytes) -> int:
        value = _value(item)
        if value < 0:
            said = item.strip()[:_LONGEST].decode("latin-1")
            hint = "use numbers from 0 to 255, or -128 to 127, as xxd -i writes them"
            where = f"array '{self.name}', item {number:,}"
            raise ModelError(f"'{said}' is not a byte", code="not_a_model", where=where, hint=hint)
        return value

    def damaged(self, what: str) -> ModelError:
        hint = "write the file again: it is truncated or edited"
        return ModelError(f"damaged array: {what}", code="not_a_model", where=f"array '{self.name}'", hint=hint)


def model_of(source: bytes) -> bytes:
    r"""Return the model in C or C++ source: the only array of bytes that begins like a .tflite file.

    Raises ModelError if there is no such array or more than one, or if the array is damaged.

    >>> model_of(b"const unsigned char m[] = {0x1c, 0, 0, 0, 0x54, 0x46, 0x4c, 51, /* more */ 0xff};")
    b'\x1c\x00\x00\x00TFL3\xff'
    """
    arrays = list(_arrays(_NO_CODE.sub(b" ", source)))
    models = [array for array in arrays if array.is_model]
    names = ", ".join(f"'{array.name}'" for array in models or arrays)
    if not arrays:
        raise ModelError("the source has no array of bytes", code="not_a_model", hint=HINT)
    if not models:
        what = "no array in this source begins like a model, with 'TFL3' at its fifth byte"
        raise ModelError(what, code="not_a_model", where=names, hint=HINT)
    if len(models) > 1:
        many = f"the source has {len(models)} models"
        raise ModelError(many, code="not_a_model", where=names, hint="use one file per model")
    (model,) = models
    if not model.whole:
        raise model.damaged("its closing brace is missing")
    return model.values()


def _arrays(code: bytes) -> Iterator[_Array]:
    """Yield the arrays of bytes in code without comments, in order."""
    at = 0
    while at < len(code):
        found = _STATEMENT.match(code, at)
        end = found.end() if found else len(code)
        if code[end : end + 1] == b"{" and (declared := _declared(code[at:end])):
            closing = _STATEMENT.match(code, end + 1)
            last = closing.end() if closing else len(code)
            yield _Array(*declared, code[end + 1 : last], code[last : last + 1] == b"}")
            end = last
        at = end + 1


def _declared(statement: bytes) -> tuple[str, str] | None:
    """Return name and length of the array of bytes that a statement declares, both as text, or None."""
    before, bracket, after = _ATTRIBUTE.sub(b" ", statement).partition(b"=")[0].rpartition(b"[")
    name = _NAME.search(before.rstrip())
    if not bracket or name is None or not _BYTE.search(before):
        return None
    return name[0].decode(), after.partition(b"]")[0].strip().decode("latin-1")


def _value(item: bytes) -> int:
    """Return a number as a byte if it fits int8 or uint8, otherwise -1. A leading 0 means octal."""
    number = _NUMBER.fullmatch(item.strip()[: _LONGEST + 1])
    try:
        value = (
            int(b"".join(number.groups()), 8 if number[2].isdigit() and number[2][:1] == b"0" else 0) if number else 256
        )
    except ValueError:  # an invalid octal number such as 08
        value = 256
    return value & 0xFF if -128 <= value <= 255 else -1
