"""Shows the progress of a command on standard error."""

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tflm_memopt.cli.console import console_of
from tflm_memopt.emit.printing import printable

EVERY = 10.0

Report = Callable[[str, int, int], None]
"""Function with three arguments: the name of a step, the number of finished parts of the step, and the number of all
parts (0 if unknown).
"""


@contextlib.contextmanager
def busy(args: argparse.Namespace, what: str, *, lines: bool = False) -> Iterator[Report]:
    """Show the current step and the remaining time on standard error, unless `--json` or `--quiet` is given.

    If `lines` is true and standard error is not a terminal, a line is printed for each step.
    """
    console = console_of(_stderr())
    silent = args.json or args.quiet
    if lines and not silent and not console.is_terminal:
        yield _in_lines(what)
        return
    off = silent or not console.is_terminal
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=off) as progress:
        task = progress.add_task(printable(what), total=None)

        def report(doing: str, done: int, of: int) -> None:
            doing = printable(f"{what}: {doing}")
            progress.update(task, description=doing, completed=done, total=of or None)

        yield report


def _in_lines(what: str) -> Report:
    said, when = "", 0.0

    def report(doing: str, done: int, of: int) -> None:
        nonlocal said, when
        if doing != said or time.monotonic() - when >= EVERY:
            said, when = doing, time.monotonic()
            print(printable(f"{what}: {doing}" + (f", {done} of {of}" if of else "")), file=sys.stderr, flush=True)

    return report


def _stderr() -> Any:
    """Return a duplicate of standard error, so that progress is shown while TensorFlow's output is suppressed."""
    if not sys.stderr.isatty():
        return sys.stderr
    return os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding, errors="backslashreplace")
