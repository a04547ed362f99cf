"""Words that users mistype: which name they meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

NOTHING: Mapping[str, str] = MappingProxyType({})


SHORTEST = 3
"""Letters of a part of a name that says which is meant."""


def near(word: str, names: Iterable[str], also: Mapping[str, str] = NOTHING, most: int = 1) -> list[str]:
    """The names that a word was probably meant to be, best first. `also`: other words for names.

    >>> near("optimise", ["inspect", "optimize"]), near("Cortex M4", ["cortex-m4"]), near("xyz", ["abc"])
    (['optimize'], ['cortex-m4'], [])
    >>> near("f411", ["f401", "f411re", "f411ce"], most=2)
    ['f411re', 'f411ce']
    """
    known = [(_plain(name), name) for name in names] + [(_plain(other), name) for other, name in also.items()]
    plain = _plain(word)
    parts = [name for other, name in known if len(plain) >= SHORTEST and plain in other]
    alike = difflib.get_close_matches(plain, [other for other, _ in known], n=most)
    return list(dict.fromkeys([*parts, *(name for match in alike for other, name in known if other == match)]))[:most]


def one_of(word: str, names: Iterable[str]) -> str:
    """A hint for a word that is none of these names: the one that was meant, and all.

    >>> one_of("optimise", ["inspect", "optimize"]), one_of("xyz", ["inspect", "optimize"])
    ('optimize (of inspect, optimize)', 'inspect, optimize')
    """
    known = list(names)
    every = ", ".join(known)
    return "".join(f"{name} (of {every})" for name in near(word, known)) or every


def _plain(word: str) -> str:
    """Without case, spaces and dashes."""
    return "".join(character for character in word.lower() if character.isalnum())
