"""What the command line prints: one answer on standard output, and errors on standard error.

`args` has the flags that every command has: json (one document instead of a page), quiet (no answer, no progress).
"""

from __future__ import annotations

import argparse
import sys
import traceback
from typing import TYPE_CHECKING, Any

from tflm_memopt.emit.printing import printable, to_json
from tflm_memopt.errors import MemoptError, UsageError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PROGRAM = "tflm-memopt"
DONE, NO, BAD = 0, 1, 2
"""Exit codes."""
PAGE = 120
"""Columns where the output is no terminal."""


def answer(args: argparse.Namespace, document: dict[str, Any], readable: RenderableType) -> None:
    """The answer of a command, as it was asked for. A string is written as it is."""
    if args.json:
        sys.stdout.write(to_json(document))
    elif args.quiet:
        pass
    elif isinstance(readable, str):
        sys.stdout.write(readable)
    else:
        console = console_of(sys.stdout)
        with console.capture() as page:
            console.print(readable, crop=False)  # an address that is longer than a line
        print("\n".join(line.rstrip() for line in page.get().rstrip().splitlines()))
    sys.stdout.flush()


def say(error: MemoptError) -> int:
    """On stderr, a line each: what (file), where, and what to try. Gives the exit code."""
    lines = [f"error: {error.what}" + (f" ({error.file})" if error.file else "")]
    parts = ("at", error.where), ("try:", error.hint), ("code", error.code)
    lines += [f"  {word} {value}" for word, value in parts if value]
    for line in lines:
        print(printable(line), file=sys.stderr)
    return error.exit_code


def typed(error: Exception) -> MemoptError:
    """Any error as one of ours; a defect must not look like the answer "no"."""
    if isinstance(error, MemoptError):
        return error
    if isinstance(error, OSError):
        return UsageError(
            error.strerror or str(error),
            code="system_error",
            where=str(error.filename or ""),
            hint="check path and space",
        )
    traceback.print_exception(error)
    hint = "please report it, with the model if you can"
    return MemoptError(f"a defect of {PROGRAM}: {type(error).__name__}: {error}", code="internal_error", hint=hint)


def console_of(stream: Any) -> Console:
    """A console without markup. `--help` and errors need none: rich is imported here."""
    from rich.console import Console  # noqa: PLC0415

    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = PAGE
    return console


def escape_unprintable() -> None:
    """A name that the terminal's encoding lacks is escaped, never a crash."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
