"""What becomes of a zoo of Keras networks: RAM before and after, what stays builtin and why.

    python benchmarks/zoo_models.py build/zoo          # needs TensorFlow: pip install 'tflm-memopt[train]'
    python benchmarks/zoo.py build/zoo --update docs/zoo.md

`--update` rewrites what stands between `<!-- zoo:begin -->` and `<!-- zoo:end -->`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tables
from rich.console import Console
from rich.progress import track

import tflm_memopt
from tflm_memopt.errors import MemoptError
from tflm_memopt.results import KeptBuiltin, Report

NAME = "zoo"
"""Of the table's marks."""
TITLES = ("model", "stays builtin, and why", "original", "**rewritten**", "ratio", "F", "operators", "builtin")


@dataclass(frozen=True, slots=True)
class Row:
    """One network. Its outputs before and after were compared, byte by byte."""

    model: str
    operators: int
    report: Report


def measure(path: Path) -> Row:
    """Converts a model and proves the result under TFLM; ValueError where a bit differs."""
    data = path.read_bytes()
    done = tflm_memopt.optimize(data, name=path.name)
    if done.report.changed:
        verdict = tflm_memopt.verify(data, done.model)
        if not verdict.bit_exact:
            raise ValueError(f"not the same bits: {verdict.difference or verdict.failure}")
    return Row(path.stem, len(tflm_memopt.inspect(data).operators), done.report)


def markdown(rows: Sequence[Row]) -> str:
    """The table, and how its figures are counted."""
    table = tables.markdown(TITLES, map(_cells, rows), left=2)
    conventions = " / ".join(dict.fromkeys(row.report.convention for row in rows))
    return "\n".join([
        table,
        "",
        f"Bytes of the whole arena (`arena_used_bytes`), predicted: {conventions}. F: multiply-accumulates done /",
        "of the original. *builtin*: operators that stay TFLM's. Each rewritten model gives the original's bytes.",
    ])  # fmt: skip


def _cells(row: Row) -> Iterable[str]:
    before, after = row.report.original_arena.total, row.report.arena.total
    kept = row.report.kept_builtin
    return (
        row.model, _reasons(kept), f"{before:,}", f"**{after:,}**", f"{before / after:.1f}",
        f"{row.report.overhead:.2f}", str(row.operators), str(len(kept)),
    )  # fmt: skip


def _reasons(kept: Sequence[KeptBuiltin]) -> str:
    counted = Counter(f"{k.operator} (`{k.code}`)" for k in kept)
    return ", ".join(f"{n} {what}" if n > 1 else what for what, n in counted.most_common())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where zoo_models.py wrote its .tflite files")
    parser.add_argument("--update", type=Path, metavar="FILE", help="rewrite the table in this file")
    args = parser.parse_args(arguments)

    paths = sorted(args.folder.glob("*.tflite"))
    if not paths:
        parser.error(f"no .tflite files in {args.folder}: python benchmarks/zoo_models.py {args.folder}")
    console = Console(stderr=True)
    rows: list[Row] = []
    path = args.update
    try:
        if args.update:
            tables.require(args.update, NAME)
        for path in track(paths, "converting", console=console, disable=not console.is_terminal):
            rows.append(measure(path))
    except (MemoptError, OSError, ValueError) as error:
        parser.error(f"{path}: {error}")
    table = markdown(rows)
    print(table)
    if args.update:
        tables.update(args.update, NAME, table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
