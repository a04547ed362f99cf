"""A model that is an array of bytes in C or C++ source: `unsigned char g_model[] = {0x1c, 0x00, ...};`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tflm_memopt.errors import ModelError
from tflm_memopt.model.flatbuffer import HEADER_BYTES, IDENTIFIER

SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".ino", ".inc")
MOST_SOURCE_BYTES = 1 << 26
"""Bytes of a source file at most: six letters or so are a byte of the model."""
HINT = "the file that xxd -i writes, or optimize itself; or the .tflite file"

_NO_CODE = re.compile(
    rb"^[ \t]*#(?:\\\n|[^\n])*|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|//[^\n]*|/\*.*?(?:\*/|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""Directives, strings and comments. Each part ends somewhere: a damaged file is read once, too."""
_STATEMENT = re.compile(rb"[^;{}]*")
_ATTRIBUTE = re.compile(rb"\[\[.*?\]\]", re.DOTALL)
_BYTE = re.compile(rb"\b(?:char|u?int8_t|byte|uchar)\b", re.IGNORECASE)
_NAME = re.compile(rb"[A-Za-z_]\w*\Z")
_NUMBER = re.compile(rb"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)[uUlL]*")
_LONGEST = 20
"""Letters of a number."""


@dataclass(frozen=True, slots=True)
class _Array:
    name: str
    length: str
    body: bytes
    whole: bool
    """Its closing brace is there."""

    @property
    def is_model(self) -> bool:
        start = self.body[: HEADER_BYTES * _LONGEST].split(b",")[:HEADER_BYTES]
        return bytes(max(0, _value(item)) for item in start)[4:] == IDENTIFIER

    def values(self) -> bytes:
        items = self.body.split(b",")
        if not items[-1].strip():
            items.pop()  # a comma may follow the last one
        if self.length.isdecimal() and int(self.length[:_LONGEST]) < len(items):
            raise self.damaged(f"{len(items):,} numbers in [{self.length}]")
        try:
            return bytes(int(item, 0) for item in items)
        except ValueError:  # negative ones, octal ones, suffixes; or what is no number
            return bytes(self._checked(k, item) for k, item in enumerate(items))

    def _checked(self, number: int, item: bytes) -> int:
        value = _value(item)
        if value < 0:
            said = item.strip()[:_LONGEST].decode("latin-1")
            hint = "numbers from 0 to 255, or -128 to 127, as xxd -i writes them"
            where = f"array '{self.name}', item {number:,}"
            raise ModelError(f"'{said}' is no byte", code="no_byte", where=where, hint=hint)
        return value

    def damaged(self, what: str) -> ModelError:
        hint = "write the file again: it is cut off or edited"
        return ModelError(f"damaged array: {what}", code="array_damaged", where=f"array '{self.name}'", hint=hint)


def model_of(source: bytes) -> bytes:
    r"""The model in C or C++ source: the one array of bytes that begins as a .tflite file does.

    Raises ModelError where there is none, or more than one, or the array is damaged.

    >>> model_of(b"const unsigned char m[] = {0x1c, 0, 0, 0, 0x54, 0x46, 0x4c, 51, /* more */ 0xff};")
    b'\x1c\x00\x00\x00TFL3\xff'
    """
    arrays = list(_arrays(_NO_CODE.sub(b" ", source)))
    models = [array for array in arrays if array.is_model]
    names = ", ".join(f"'{array.name}'" for array in models or arrays)
    if not arrays:
        raise ModelError("no array of bytes in this source", code="no_array", hint=HINT)
    if not models:
        what = "no array in this source begins as a model does, with 'TFL3' from its fifth byte on"
        raise ModelError(what, code="no_model_array", where=names, hint=HINT)
    if len(models) > 1:
        many = f"{len(models)} models in one source"
        raise ModelError(many, code="several_arrays", where=names, hint="a file for each model")
    (model,) = models
    if not model.whole:
        raise model.damaged("no brace closes it")
    return model.values()


def _arrays(code: bytes) -> Iterator[_Array]:
    """The arrays of bytes in code without comments, in order: what stands between braces behind a declaration."""
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
    """Name and length, as it is written, of the array of bytes that a statement declares."""
    before, bracket, after = _ATTRIBUTE.sub(b" ", statement).partition(b"=")[0].rpartition(b"[")
    name = _NAME.search(before.rstrip())
    if not bracket or name is None or not _BYTE.search(before):
        return None
    return name[0].decode(), after.partition(b"]")[0].strip().decode("latin-1")


def _value(item: bytes) -> int:
    """The byte that a number is, as an int8 or a uint8; -1 for what is none. One with a leading 0 is octal."""
    number = _NUMBER.fullmatch(item.strip()[: _LONGEST + 1])
    try:
        value = (
            int(b"".join(number.groups()), 8 if number[2].isdigit() and number[2][:1] == b"0" else 0) if number else 256
        )
    except ValueError:  # 08
        value = 256
    return value & 0xFF if -128 <= value <= 255 else -1
