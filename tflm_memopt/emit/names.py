"""Makes file names and C++ identifiers from arbitrary names."""

import re
from collections.abc import Container

from tflm_memopt.files import NOT_IN_NAMES, is_device

NAMELESS = "model"
IN_CMAKE = frozenset(";$")
"""Characters with a special meaning in CMake's lists of source files."""


def file_stem(name: str) -> str:
    """Return a file stem that is valid on every system and in CMake, with '_' in place of invalid characters.

    >>> file_stem('kws v2.1'), file_stem('a"b;c'), file_stem("../con"), file_stem("aux")
    ('kws v2.1', 'a_b_c', '.._con', '_aux')
    """
    stem = _without(NOT_IN_NAMES | IN_CMAKE, name) or NAMELESS
    return f"_{stem}" if is_device(stem) else stem


def comment(text: str) -> str:
    """Return a text that is safe inside a C comment.

    >>> comment('a*/b')
    'a* /b'
    """
    return _without('"\\', text).replace("*/", "* /").replace("/*", "/ *")


def _without(unwanted: Container[str], text: str) -> str:
    return "".join("_" if c in unwanted or c == "\ufffd" or not c.isprintable() else c for c in text)


def identifier(name: str) -> str:
    """Return `name` as a prefix of C++ identifiers. The prefix may be a C++ keyword, because a suffix such as `_model`
    follows.

    The prefix does not start with an underscore or a digit, has no double underscore, and is not "tmo".

    >>> identifier('kws_int8'), identifier('1-model v2'), identifier('__x__y'), identifier('日本')
    ('kws_int8', 'model_1_model_v2', 'x_y', 'model')
    >>> identifier('tmo'), identifier('TMO run'), identifier('tmov')
    ('model_tmo', 'model_TMO_run', 'tmov')
    """
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    taken = plain[:1].isdigit() or plain.partition("_")[0].lower() == "tmo"
    return f"{NAMELESS}_{plain}" if taken else plain or NAMELESS


def guard(name: str, kind: str) -> str:
    """Return the include guard of NAME_kind.h.

    >>> guard('kws int8', 'ops')
    'KWS_INT8_OPS_H_'
    """
    return f"{identifier(name)}_{kind}_h_".upper()
