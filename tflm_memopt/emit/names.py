"""Names for C++, from any file name."""

from __future__ import annotations

import re
from collections.abc import Container

from tflm_memopt.files import NOT_IN_NAMES, is_device

NAMELESS = "model"


def file_stem(name: str) -> str:
    """`name` as the stem of files that every system can have; '_' stands for what was no text in it (U+FFFD).

    >>> file_stem('kws v2.1'), file_stem('a"b'), file_stem("../con"), file_stem("aux")
    ('kws v2.1', 'a_b', '.._con', '_aux')
    """
    stem = _without(NOT_IN_NAMES, name) or NAMELESS
    return f"_{stem}" if is_device(stem) else stem


def comment(text: str) -> str:
    """`text` for the inside of a C comment.

    >>> comment('a*/b')
    'a* /b'
    """
    return _without('"\\', text).replace("*/", "* /").replace("/*", "/ *")


def _without(unwanted: Container[str], text: str) -> str:
    """The text with '_' for unwanted and unprintable characters."""
    return "".join("_" if c in unwanted or c == "\ufffd" or not c.isprintable() else c for c in text)


def identifier(name: str) -> str:
    """`name` as the first part of C++ identifiers: they add `_model` and the like, so that keywords are no danger.

    Neither reserved (no double underscore, none in front) nor starting with a digit.

    >>> identifier('kws_int8'), identifier('1-model v2'), identifier('__x__y'), identifier('日本')
    ('kws_int8', 'model_1_model_v2', 'x_y', 'model')
    """
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    return f"{NAMELESS}_{plain}" if plain[:1].isdigit() else plain or NAMELESS


def guard(name: str, kind: str) -> str:
    """The include guard of NAME_kind.h.

    >>> guard('kws int8', 'ops')
    'KWS_INT8_OPS_H_'
    """
    return f"{identifier(name)}_{kind}_h_".upper()
