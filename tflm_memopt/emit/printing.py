"""Formats text and JSON for the terminal and for files."""

import json
import math
from collections.abc import Mapping
from typing import Any


def printable(text: str) -> str:
    r"""Return a name from a file as one line that is safe to print, with escaped control characters.

    >>> printable("a\nb")
    'a\\nb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def to_json(document: Mapping[str, Any]) -> str:
    """Return a readable JSON document, with strings for floats that JSON lacks, such as NaN."""
    return json.dumps(_plain(document), indent=2, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
