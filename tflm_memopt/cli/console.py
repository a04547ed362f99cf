"""What the command line says: one answer on standard output, progress and errors on standard error.

`args` has the flags that every command has: json (one document instead of a page), quiet (no answer, no progress).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from tflm_memopt.emit import bundle
from tflm_memopt.errors import MemoptError, UsageError
from tflm_memopt.report import text

PROGRAM = "tflm-memopt"
DONE, NO, BAD = 0, 1, 2
"""Exit codes."""
EVERY = 10.0
"""Seconds between lines about the same step."""
PAGE = 120
"""Columns where the output is no terminal."""

Report = Callable[[str, int, int], None]
"""What is being done, how many steps of it are done, and of how many; 0: nobody knows."""


def answer(args: argparse.Namespace, document: dict[str, Any], readable: RenderableType) -> None:
    """The answer of a command, as it was asked for. A string is written as it is."""
    if args.json:
        sys.stdout.write(bundle.to_json(document))
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
        print(text.printable(line), file=sys.stderr)
    return error.exit_code


def typed(error: Exception) -> MemoptError:
    """Any error as one of ours; a defect must not look like the answer "no"."""
    if isinstance(error, MemoptError):
        return error
    if isinstance(error, OSError):
        return UsageError(
            error.strerror or str(error), code="system", where=str(error.filename or ""), hint="check path and space"
        )
    traceback.print_exception(error)
    hint = "please report it, with the model if you can"
    return MemoptError(f"a defect of {PROGRAM}: {type(error).__name__}: {error}", code="defect", hint=hint)


@contextlib.contextmanager
def busy(args: argparse.Namespace, what: str, *, lines: bool = False) -> Iterator[Report]:
    """On stderr, what is being done and how long it will take; only where people, not programs, wait.

    lines: where stderr is no terminal, say it in lines: of what takes minutes.
    """
    console = console_of(_stderr())
    silent = args.json or args.quiet
    if lines and not silent and not console.is_terminal:
        yield _in_lines(what)
        return
    off = silent or not console.is_terminal
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), _Bar(), TimeElapsedColumn(), _Left()
    with Progress(*columns, console=console, transient=True, disable=off) as progress:
        task = progress.add_task(text.printable(what), total=None)

        def report(doing: str, done: int, of: int) -> None:
            doing = text.printable(f"{what}: {doing}")
            progress.update(task, description=doing, completed=done, total=of or None)

        yield report


def _in_lines(what: str) -> Report:
    """A line when another step begins, and one now and then while it lasts."""
    said, when = "", 0.0

    def report(doing: str, done: int, of: int) -> None:
        nonlocal said, when
        if doing != said or time.monotonic() - when >= EVERY:
            said, when = doing, time.monotonic()
            print(text.printable(f"{what}: {doing}" + (f", {done} of {of}" if of else "")), file=sys.stderr, flush=True)

    return report


def _stderr() -> Any:
    """A terminal by a descriptor of its own: progress goes on while TensorFlow is silenced (keras.unheard())."""
    if not sys.stderr.isatty():
        return sys.stderr
    return os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding, errors="backslashreplace")


class _Bar(BarColumn):
    """Nothing where nobody knows how much there is to do."""

    def render(self, task: Task) -> Any:
        return super().render(task) if task.total else Text()


class _Left(ProgressColumn):
    """About how long it will still take, from the share that is done."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        if not task.total or not task.completed or task.elapsed is None:
            return Text()
        left = task.elapsed * (task.total - task.completed) / task.completed
        return Text(f"about {left:.0f} s left" if left >= 1 else "", style="dim")


def console_of(stream: Any) -> Console:
    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = PAGE
    return console


def escape_unprintable() -> None:
    """A name that the terminal's encoding lacks is escaped, never a crash."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
