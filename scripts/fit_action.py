"""The GitHub Action of action.yml: do models still fit? `tflm-memopt fit` on each, as one Markdown page.

Its inputs come as environment variables, so that nothing in them is a command: MODEL (paths or patterns, one a line),
BOARD (ids, with commas or spaces between), RAM_LIMIT, OPTIONS (further flags of `fit`). The page goes to stdout, to the
file GITHUB_STEP_SUMMARY and, with the answer, to GITHUB_OUTPUT. Exit codes are those of `fit`, the worst of all: 0 all
fit, 1 one does not, 2 bad input.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import Mapping
from glob import glob
from pathlib import Path

FITS, BAD = 0, 2


def models(patterns: str) -> list[str]:
    """Return the paths, each once. A pattern without a matching file is kept, so that `fit` reports it."""
    lines = [line for line in map(str.strip, patterns.splitlines()) if line]
    found = [sorted(glob(line, recursive=True)) or [line] for line in lines]  # noqa: PTH207 (patterns may be absolute)
    return list(dict.fromkeys(path for paths in found for path in paths))


def flags(inputs: Mapping[str, str]) -> list[str]:
    boards = [flag for board in inputs.get("BOARD", "").replace(",", " ").split() for flag in ("--board", board)]
    limit = inputs.get("RAM_LIMIT", "").strip()
    return [*boards, *(["--ram-limit", limit] if limit else []), *shlex.split(inputs.get("OPTIONS", ""))]


def fit(model: str, arguments: list[str]) -> tuple[int, str]:
    """Return the exit code, and the table or the reason that there is none."""
    command = [sys.executable, "-m", "tflm_memopt", "fit", "--markdown", *arguments, "--", model]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    said = done.stdout.strip() or f"**{Path(model).name}**\n\n```\n{done.stderr.strip()}\n```"
    return done.returncode, said


def write(variable: str, text: str) -> None:
    """Append text to a file whose name GitHub sets, if it does."""
    if path := os.environ.get(variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def main() -> int:
    paths = models(os.environ.get("MODEL", ""))
    if not paths:
        print("error: no model: the input `model` is a path or a pattern", file=sys.stderr)
        return BAD
    try:
        arguments = flags(os.environ)
    except ValueError as error:
        print(f"error: the input `options`: {error}", file=sys.stderr)
        return BAD
    answers = [fit(path, arguments) for path in paths]
    worst = max(code for code, _ in answers)
    page = "\n\n".join(said for _, said in answers) + "\n"
    end = uuid.uuid4().hex
    print(page, end="")
    write("GITHUB_STEP_SUMMARY", page)
    write("GITHUB_OUTPUT", f"fits={str(worst == FITS).lower()}\ntable<<{end}\n{page}{end}\n")
    return worst


if __name__ == "__main__":
    sys.exit(main())
