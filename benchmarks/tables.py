"""Writes and checks generated Markdown tables, which are between `<!-- NAME:begin -->` and `<!-- NAME:end -->` in a
page.

    python benchmarks/tables.py --check [--only PAGE:NAME ...] --models DIR --nets DIR --public DIR
    python benchmarks/tables.py --write --models DIR --nets DIR

--check lists stale tables and exits with 1 if there are any; --write renews them. Tables whose folder is not given are
skipped and listed. benchmarks/published.py defines the tables.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from published import Table

T = TypeVar("T")


def markdown(titles: Iterable[str], rows: Iterable[Iterable[str]], left: int = 1) -> str:
    """A table; the first `left` columns are text, the others numbers.

    >>> print(markdown(["net", "bytes"], [["a", "1"]]))
    | net | bytes |
    | --- | ---: |
    | a | 1 |
    """
    titles = list(titles)
    rule = ["---" if i < left else "---:" for i in range(len(titles))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, rule, *rows))


def json_lines(document: object, depth: int, indent: str = "\n") -> str:
    r"""JSON in which objects and lists down to a depth have a line for each value, unless they hold plain values only.

    >>> print(json_lines({"source": {"n": 1}, "rows": [{"a": 1}, {"a": 2}]}, 2))
    {
     "source": {"n": 1},
     "rows": [
      {"a": 1},
      {"a": 2}
     ]
    }
    """
    values = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    if not depth or not any(isinstance(one, (dict, list)) for one in values):
        return json.dumps(document)
    inner = indent + " "
    rows = [json_lines(one, depth - 1, inner) for one in values]
    if isinstance(document, dict):
        rows = [f"{json.dumps(name)}: {row}" for name, row in zip(document, rows, strict=True)]
    begin, end = "{}" if isinstance(document, dict) else "[]"
    return f"{begin}{inner}{f',{inner}'.join(rows)}{indent}{end}"


def by_kind(kernels: Mapping[str, T]) -> dict[str, dict[str, T]]:
    """Return the values of kernels by kind, then by way of computing; tflm_memopt.analysis.costs.by_kernel() is the
    inverse.
    """
    nested: dict[str, dict[str, T]] = {}
    for kernel, each in kernels.items():
        kind, _, way = kernel.partition(" ")
        nested.setdefault(kind, {})[way] = each
    return nested


def updated(text: str, name: str, table: str, of: str = "") -> str:
    r"""Return `text` with `table` between the marks of this name. Raises ValueError if the text has no such marks.

    of: digest of what the table was measured on, kept in the first mark (benchmarks/published.py).

    >>> updated("a <!-- t:begin -->old<!-- t:end --> b", "t", "new", "1f")
    'a <!-- t:begin of 1f -->\nnew\n<!-- t:end --> b'
    """
    before, _, _, after = _parts(text, name)
    return f"{before}<!-- {name}:begin{f' of {of}' if of else ''} -->\n{table}\n<!-- {name}:end -->{after}"


def between(text: str, name: str) -> tuple[str, str]:
    r"""Return the table of this name, and the digest of its data, or "" without one.

    >>> between("a <!-- t:begin of 1f -->\nold\n<!-- t:end --> b", "t")
    ('old', '1f')
    """
    _, of, table, _ = _parts(text, name)
    return table.strip("\n"), of


def _parts(text: str, name: str) -> tuple[str, str, str, str]:
    """Return the text before the marks, the digest, the table, and the text after the marks."""
    found = re.search(rf"<!-- {name}:begin(?: of (\w+))? -->(.*?)<!-- {name}:end -->", text, re.DOTALL)
    if not found:
        raise ValueError(f"no <!-- {name}:begin --> with an <!-- {name}:end --> behind it")
    return text[: found.start()], found[1] or "", found[2], text[found.end() :]


def update(page: Path, name: str, table: str) -> None:
    """Replace the table of this name in a document."""
    page.write_text(updated(page.read_text(encoding="utf-8"), name, table), encoding="utf-8")


def require(page: Path, name: str) -> None:
    """Raise ValueError for a page without the marks of this table. Call this function before a long measurement."""
    _parts(page.read_text(encoding="utf-8"), name)


def page_parser(about: str | None) -> argparse.ArgumentParser:
    """Return a parser for a script that publish()es a table. about: the script's docstring."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", type=Path, metavar="FILE.md", help="write the table between its marks in a page")
    return parser


def tflite_files(parser: argparse.ArgumentParser, folder: Path) -> list[Path]:
    """Return the .tflite files of a folder. An empty folder is a usage error."""
    paths = sorted(folder.glob("*.tflite"))
    if not paths:
        parser.error(f"no .tflite files in {folder}")
    return paths


def publish(page: Path | None, name: str, table: str) -> None:
    """Print a table and, if a page is given, write the table there."""
    print(table)
    if page:
        update(page, name, table)


# ---- All tables ----


Pages = dict[tuple[str, str, tuple[str, ...]], str]
"""Cache of changed pages by page, command and models, because one command may make several tables."""


def stale(table: Table, root: Path, folders: Mapping[str, Path], made: Pages) -> str:
    """Return why a table is stale, or "". made: cache of the pages with tables made again, to which this call adds."""
    from published import digest  # noqa: PLC0415 (it imports scripts, which import this file)

    now, kept = between((root / table.page).read_text(encoding="utf-8"), table.name)
    if table.of:
        if not kept:
            return "what it was measured on is not recorded"
        return "" if kept == digest(table, folders) else "models or code that it was measured on have changed"
    key = table.page, table.command, table.only
    if key not in made:
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(scratch) / Path(table.page).name
            shutil.copy(root / table.page, copy)
            _run(table, copy, folders)
            made[key] = copy.read_text(encoding="utf-8")
    again, _ = between(made[key], table.name)
    return "" if again == now else "another one is made today"


def write(table: Table, root: Path, folders: Mapping[str, Path]) -> None:
    """Run the table's command and record the digest of its data."""
    from published import digest  # noqa: PLC0415

    page = root / table.page
    of = digest(table, folders) if table.of else ""
    _run(table, page, folders)
    text = page.read_text(encoding="utf-8")
    page.write_text(updated(text, table.name, between(text, table.name)[0], of), encoding="utf-8")


def command(table: Table, page: Path, folders: Mapping[str, Path]) -> list[str]:
    """Return the script in benchmarks/ that writes a table into `page`, and its arguments."""
    words = (word.format(**folders) for word in table.command.split())
    return [*words, *(["--only", *table.only] if table.only else []), "--update", str(page)]


def _run(table: Table, page: Path, folders: Mapping[str, Path]) -> None:
    """Run the script in a separate process, so that caches of other tables do not change the seconds."""
    script, *arguments = command(table, page, folders)
    path = Path(__file__).parent / script
    done = subprocess.run([sys.executable, path, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"{script} {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")


def main(arguments: Sequence[str] | None = None) -> int:
    from published import FOLDERS, ROOT, TABLES  # noqa: PLC0415

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="say which ones are stale; exit code 1 when one is")
    what.add_argument("--write", action="store_true", help="write the stale ones anew")
    parser.add_argument("--only", nargs="+", metavar="PAGE:NAME", help="these tables: docs/benchmarks.md:size")
    for name, has in FOLDERS.items():
        parser.add_argument(f"--{name}", type=Path, metavar="DIR", help=has)
    args = parser.parse_args(arguments)
    folders = {name: path.resolve() for name in FOLDERS if (path := getattr(args, name))}
    made: Pages = {}
    found = 0
    for table in TABLES:
        where = f"{table.page}:{table.name}"
        if args.only and where not in args.only:
            continue
        if missing := table.folders - folders.keys():
            print(f"{where}: not looked at, needs {', '.join(f'--{name}' for name in sorted(missing))}")
        elif why := stale(table, ROOT, folders, made):
            found += 1
            print(f"{where}: {why}" + (", written anew" if args.write else ""), flush=True)
            if args.write:
                write(table, ROOT, folders)
    return 1 if found and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
