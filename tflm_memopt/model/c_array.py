"""Reads a model from an array of bytes in C or C++ source: `unsigned char g_model[] = {0x1c, 0x00, ...};`."""

import re

from tflm_memopt.errors import ModelError
from tflm_memopt.model.flatbuffer import HEADER_BYTES, IDENTIFIER

SUFFIXES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".ino", ".inc")
MOST_SOURCE_BYTES = 1 << 26
"""Greatest size of a source file in bytes. A byte of the model takes about six characters in C."""
HINT = "give the .tflite file, or C source with one model as xxd -i or `optimize` writes it"

_NO_CODE = re.compile(
    rb"^[ \t]*#(?:\\\n|[^\n])*|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|//[^\n]*|/\*.*?(?:\*/|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""Matches directives, strings and comments of C. Strings and comments without an end also match, so that the search
takes linear time.
"""
_BRACES = re.compile(rb"\{([^{};]*)(\}?)")
_LONGEST = 20


def model_of(source: bytes) -> bytes:
    r"""Return the bytes of the model in C or C++ source. Raises ModelError if the array is damaged, or if not exactly
    one array begins like a .tflite file.

    >>> model_of(b"const unsigned char m[] = {0x1c, 0, 0, 0, 0x54, 0x46, 0x4c, 51, /* more */ 0xff};")
    b'\x1c\x00\x00\x00TFL3\xff'
    """
    lists = [found.groups() for found in _BRACES.finditer(_NO_CODE.sub(b" ", source))]
    models = [(body.split(b","), closing) for body, closing in lists if _is_model(body)]
    if len(models) != 1:
        what = f"{len(models) or 'no'} arrays in this source begin like a model, with 'TFL3' at the fifth byte"
        raise ModelError(what, code="not_a_model", hint=HINT)
    ((items, closing),) = models
    if not closing:
        raise ModelError("the array's closing brace is missing", code="not_a_model", hint="write the file again")
    if not items[-1].strip():
        items.pop()  # a comma may follow the last number
    try:
        return bytes(int(item, 0) for item in items)
    except ValueError:  # an item of the list is a negative or octal number, has a suffix, or is invalid
        values = [_byte(item) for item in items]
    if None in values:
        said = items[values.index(None)].strip()[:_LONGEST].decode("latin-1")
        raise ModelError(
            f"'{said}' is not a byte", code="not_a_model", hint="use numbers from 0 to 255, or -128 to 127"
        )
    return bytes(value for value in values if value is not None)


def _is_model(body: bytes) -> bool:
    start = [_byte(item) for item in body[: HEADER_BYTES * _LONGEST].split(b",")[:HEADER_BYTES]]
    return start[-len(IDENTIFIER) :] == [*IDENTIFIER] and len(start) == HEADER_BYTES


def _byte(item: bytes) -> int | None:
    """Return a number as a byte, or None if it fits neither int8 nor uint8. A number with a leading 0 is octal."""
    text = item.strip().rstrip(b"uUlL")[: _LONGEST + 1]
    try:
        value = int(text, 8 if text.isdigit() and text[:1] == b"0" else 0)
    except ValueError:
        return None
    return value & 0xFF if -128 <= value <= 255 else None
