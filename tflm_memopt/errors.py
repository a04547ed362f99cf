"""Defines the exceptions that the package raises deliberately.

    MemoptError
    +-- ModelError          the bytes are not a readable model (exit code 2)
    +-- UsageError          an argument or a combination of arguments is invalid (exit code 2)
    +-- InterfaceError      two models cannot be compared, since their interfaces differ (exit code 2)
    +-- DoesNotFit          nothing fits the given limit (exit code 1)
    +-- RegisterError       a driver or a description of registers cannot be used (exit code 2)
    +-- KernelError         a kernel's description is inconsistent, or a core cannot run it (exit code 2)
    +-- PlanError           the checker rejected a plan, which is a bug of the planner
    +-- RuntimeUnavailable  TFLM's wheel or the host library is not installed

A message says what is wrong, where, and what to do. Programs that react to an error read its code (docs/errors.md).
"""

import contextlib
import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

Code = Literal[
    "",
    "not_a_model",
    "damaged_model",
    "unsupported_model",
    "damaged_program",
    "tflm_refuses",
    "unsupported_operator",
    "unsupported_input",
    "not_convertible",
    "other_model",
    "interfaces_differ",
    "bad_option",
    "bad_config",
    "bad_plan",
    "bad_data",
    "bad_kernel",
    "bad_registers",
    "bad_c_module",
    "cannot_share",
    "cannot_emit",
    "does_not_fit",
    "flash_too_small",
    "too_slow",
    "memory_unknown",
    "time_unknown",
    "file_unreadable",
    "file_unwritable",
    "would_overwrite",
    "bad_file_name",
    "system_error",
    "not_installed",
    "does_not_run",
    "internal_error",
]
NO_OTHERS: Mapping[str, str] = MappingProxyType({})
SHORTEST = 3
"""A word of at least SHORTEST characters matches every name that contains the word."""


class MemoptError(Exception):
    """Base class of all errors.

    An error says what is wrong (`what`), where (`where`) and what to do (`hint`), and has a stable `code`. Callers that
    know the model's file set the attribute `file` of an error.
    """

    exit_code = 2
    file = ""
    usual: Code = ""
    """Code of an error that is raised without the argument `code`."""

    def __init__(self, what: str, *, code: Code = "", where: str = "", hint: str = "") -> None:
        self.what, self.code, self.where, self.hint = what, code or self.usual, where, hint
        super().__init__(what)

    def to_json(self) -> dict[str, str]:
        """Return the error as the JSON object that `--json` prints."""
        return {"what": self.what, "code": self.code, "file": self.file, "where": self.where, "hint": self.hint}

    def __str__(self) -> str:
        lines = self.what + (f" ({self.file})" if self.file else ""), self.where, self.hint
        return "\n".join(f"{word}{line}" for word, line in zip(("", "  at ", "  try: "), lines, strict=True) if line)


class ModelError(MemoptError):
    """The given bytes are not a readable model."""


class UsageError(MemoptError):
    """An argument, or a combination of arguments, is invalid."""

    usual = "bad_option"


class InterfaceError(MemoptError):
    """Two models cannot be compared."""

    usual = "interfaces_differ"


class DoesNotFit(MemoptError):
    """No plan, board or split fits the given limit."""

    exit_code = 1
    usual = "does_not_fit"


class PlanError(MemoptError):
    """The plan checker rejected a plan."""

    usual = "bad_plan"


class KernelError(MemoptError):
    """The description of a kernel is inconsistent, or a core cannot run it."""

    usual = "bad_kernel"


class RegisterError(MemoptError):
    """A driver, or a description of registers, cannot be used."""

    usual = "bad_registers"


class RuntimeUnavailable(MemoptError):
    """TFLM's wheel or the compiled host library is not installed."""

    usual = "not_installed"


@contextlib.contextmanager
def about(*paths: Path) -> Iterator[None]:
    """Add the names of files to errors that are raised inside the block."""
    try:
        yield
    except RuntimeUnavailable:
        raise
    except MemoptError as error:
        error.file = error.file or ", ".join(map(str, paths))
        raise


def near(word: str, names: Iterable[str], also: Mapping[str, str] = NO_OTHERS, most: int = 1) -> list[str]:
    """Return the names that the user probably meant by a word, best first. The argument `also` maps synonyms to names.

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
    """Return a hint for an unknown name: the most similar name, if any, and all valid names.

    >>> one_of("optimise", ["inspect", "optimize"]), one_of("xyz", ["inspect", "optimize"])
    ('optimize (of inspect, optimize)', 'inspect, optimize')
    """
    known = list(names)
    every = ", ".join(known)
    return "".join(f"{name} (of {every})" for name in near(word, known)) or every


def _plain(word: str) -> str:
    return "".join(character for character in word.lower() if character.isalnum())
