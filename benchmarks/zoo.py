"""Converts a zoo of networks and lists RAM before and after, and which operators stay builtin and why.

    python benchmarks/zoo.py DIR --update docs/zoo.md

The name of a model in a folder of DIR includes the folder.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tables

import tflm_memopt
from tflm_memopt.errors import UsageError
from tflm_memopt.results import KeptBuiltin, Report

MARK = "others"
TITLES = ("model", "stays builtin, and why", "original", "**rewritten**", "ratio", "streamed")
RUNS = 3
"""Number of random inputs for the comparison of outputs, besides three extreme ones."""


@dataclass(frozen=True, slots=True)
class Row:
    """One network. The outputs of the original and the rewritten network were compared, byte by byte."""

    model: str
    report: Report
    streamed: int | None
    """Bytes of the whole arena with `--input stream`, or None if the input cannot be streamed."""


def measure(path: Path, name: str) -> Row:
    """Convert a model with its own and with a streamed input. Raises ValueError where a bit differs under TFLM."""
    data = path.read_bytes()
    report = _proved(data, path.name)
    try:
        streamed = _proved(data, path.name, input="stream").arena.total
    except UsageError:
        streamed = None
    return Row(name, report, streamed)


def _proved(data: bytes, name: str, **settings: Any) -> Report:
    done = tflm_memopt.optimize(data, name=name, **settings)
    if done.report.changed:
        verdict = tflm_memopt.verify(data, done.model, runs=RUNS)
        if not verdict.bit_exact:
            raise ValueError(f"not the same bits, {settings}: {verdict.difference or verdict.failure}")
    return done.report


def markdown(rows: Sequence[Row]) -> str:
    """Return the table and a note on how its figures are counted."""
    table = tables.markdown(TITLES, map(_cells, rows), left=2)
    conventions = " / ".join(dict.fromkeys(row.report.convention for row in rows))
    return "\n".join([
        table,
        "",
        f"Whole arenas, predicted, {conventions}; {RUNS} random and 3 extreme inputs gave the same bytes.",
    ])  # fmt: skip


def _cells(row: Row) -> Iterable[str]:
    before, after = row.report.original_arena.total, row.report.arena.total
    return (
        row.model, _reasons(row.report.kept_builtin), f"{before:,}", f"**{after:,}**", f"{before / after:.1f}",
        f"{row.streamed:,}" if row.streamed else "",
    )  # fmt: skip


def _reasons(kept: Sequence[KeptBuiltin]) -> str:
    counted = Counter(f"{k.operator} (`{k.code}`)" for k in kept)
    return ", ".join(f"{n} {what}" if n > 1 else what for what, n in counted.most_common())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = tables.page_parser(__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where .tflite files are, or folders of them")
    args = parser.parse_args(arguments)

    paths = sorted(args.folder.rglob("*.tflite"))
    if not paths:
        parser.error(f"no .tflite files in {args.folder}")
    rows = [measure(path, path.relative_to(args.folder).with_suffix("").as_posix()) for path in paths]
    tables.publish(args.update, MARK, markdown(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
