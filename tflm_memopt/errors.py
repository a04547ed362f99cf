"""Every error that the package raises on purpose.

    MemoptError
    +-- ModelError          the bytes are no model that can be read (exit code 2)
    +-- UsageError          an argument or a combination of arguments makes no sense (exit code 2)
    +-- InterfaceError      two models cannot be compared: their interfaces differ for no recorded reason (exit code 2)
    +-- DoesNotFit          the answer is no (exit code 1)
    +-- RegisterError       a driver or a description of registers cannot be used (exit code 2)
    +-- KernelError         a kernel's description contradicts itself, or a core cannot run it (exit code 2)
    +-- PlanError           the checker refuses a plan: a defect of the planner, never of the user
    +-- RuntimeUnavailable  TFLM's wheel or the host library is not there

A message says what, where, and what to do: one sentence each. A code names the reason and stays the same from version
to version; docs/errors.md, which scripts/reference.py writes, lists them all.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

NO_OTHERS: Mapping[str, str] = MappingProxyType({})
SHORTEST = 3
"""Letters of a part of a name that says which is meant."""


class MemoptError(Exception):
    """Base of all: `what`, a stable `code` of it, `where` it is (operator, tensor) and a `hint` what to do.

    Who knows the `file` sets it.
    """

    exit_code = 2
    file = ""

    def __init__(self, what: str, *, code: str = "", where: str = "", hint: str = "") -> None:
        self.what, self.code, self.where, self.hint = what, code, where, hint
        super().__init__(what)

    def to_json(self) -> dict[str, str]:
        """The same as --json writes it."""
        return {"what": self.what, "code": self.code, "file": self.file, "where": self.where, "hint": self.hint}

    def __str__(self) -> str:
        lines = self.what + (f" ({self.file})" if self.file else ""), self.where, self.hint
        return "\n".join(f"{word}{line}" for word, line in zip(("", "  at ", "  try: "), lines, strict=True) if line)


class ModelError(MemoptError):
    """The bytes are no model that can be read."""


class UsageError(MemoptError):
    """An argument, or a combination of arguments, makes no sense."""


class InterfaceError(MemoptError):
    """Two models cannot be compared."""


class DoesNotFit(MemoptError):
    """The answer is no: nothing fits the limit that was asked for."""

    exit_code = 1


class PlanError(MemoptError):
    """The plan checker refuses a plan."""


class KernelError(MemoptError):
    """A description of a kernel contradicts itself, or a core cannot run it."""


class RegisterError(MemoptError):
    """A driver, or a description of registers, cannot be used."""


class RuntimeUnavailable(MemoptError):
    """TFLM's wheel or the compiled host library is not installed."""


@contextlib.contextmanager
def about(*paths: Path) -> Iterator[None]:
    """Errors inside are about these files."""
    try:
        yield
    except RuntimeUnavailable:
        raise
    except MemoptError as error:
        error.file = error.file or ", ".join(map(str, paths))
        raise


def near(word: str, names: Iterable[str], also: Mapping[str, str] = NO_OTHERS, most: int = 1) -> list[str]:
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
