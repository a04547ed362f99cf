"""Runs the commands of a page and replaces their output.

    python scripts/snippets.py docs/cli.md

A command is a line `$ tflm-memopt ...` in a block of the language `console`. Its output reaches to the next command or
the block's end. All commands of a page run in one scratch folder with this repository's `examples/`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tflm_memopt.cli import main as cli

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
PROMPT = "$ "


def rerun(page: str) -> str:
    """Returns `page` with the current output of its commands."""
    with tempfile.TemporaryDirectory() as scratch, _inside(Path(scratch)):
        Path("examples").symlink_to(ROOT / "examples")
        return BLOCK.sub(lambda block: "".join(_answers(block[1])), page)


def _answers(block: str) -> Iterator[str]:
    for line in block.splitlines():
        if line.startswith(PROMPT):
            yield f"{line}\n{_output(line.removeprefix(PROMPT))}"


def _output(command: str) -> str:
    """Return the command's output and errors, without its progress display."""
    program, *arguments = shlex.split(command)
    if program != cli.PROGRAM:
        raise ValueError(f"not a command of {cli.PROGRAM}: {command}")
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()) as beside:
        code = cli.main(arguments)
    return said.getvalue() + ("" if code == cli.DONE else beside.getvalue())


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    here = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)


def main(pages: list[str]) -> int:
    for page in map(Path, pages):
        page.write_text(rerun(page.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
