"""Prints answers as text or JSON to standard output, and errors to standard error."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tflm_memopt.emit.printing import printable, to_json
from tflm_memopt.errors import MemoptError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    # rich is imported only when needed, because the import is slow.
    from rich.console import Console, RenderableType

PROGRAM = "tflm-memopt"
DONE, NO, BAD = 0, 1, 2
PAGE = 120
"""Number of columns for output that does not go to a terminal."""


def answer(
    args: argparse.Namespace, document: Callable[[], dict[str, Any]], readable: RenderableType, *, is_yes: bool = True
) -> int:
    """Print the answer of a command as JSON or text, and return the exit code."""
    if args.json:
        sys.stdout.write(to_json(document()))
    elif args.quiet:
        pass
    elif isinstance(readable, str):
        sys.stdout.write(readable)
    else:
        console = console_of(sys.stdout)
        with console.capture() as page:
            console.print(readable, crop=False)  # A URL may be wider than the console.
        print("\n".join(line.rstrip() for line in page.get().rstrip().splitlines()))
    sys.stdout.flush()
    return DONE if is_yes else NO


def say(error: MemoptError) -> int:
    """Print an error to standard error, and return the error's exit code."""
    lines = [f"error: {error.what}" + (f" ({error.file})" if error.file else "")]
    parts = ("at", error.where), ("try:", error.hint), ("code", error.code)
    lines += [f"  {word} {value}" for word, value in parts if value]
    for line in lines:
        print(printable(line), file=sys.stderr)
    return error.exit_code


def typed(error: Exception) -> MemoptError:
    """Convert any exception to a MemoptError, by default with the code "internal_error"."""
    if isinstance(error, MemoptError):
        return error
    if isinstance(error, OSError):
        return UsageError(
            error.strerror or str(error),
            code="system_error",
            where=str(error.filename or ""),
            hint="check the path and the free space",
        )
    traceback.print_exception(error)
    hint = "please report this error, with the model if you can"
    return MemoptError(f"a defect of {PROGRAM}: {type(error).__name__}: {error}", code="internal_error", hint=hint)


def console_of(stream: Any) -> Console:
    from rich.console import Console  # noqa: PLC0415

    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = PAGE
    return console


def prepare_streams() -> None:
    """Replace closed output streams by the null device. Escape characters that an output stream cannot encode."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        if hasattr(stream := getattr(sys, name), "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
