"""Make a table of the RAM of every .tflite file of a folder, before and after.

    python benchmarks/ram.py ../shared/models
    python benchmarks/ram.py ../shared/models --update docs/benchmarks.md

`--update` rewrites what stands between `<!-- ram:begin -->` and `<!-- ram:end -->`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tables

import tflm_memopt
from tflm_memopt.errors import UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.results import Report
from tflm_memopt.rewrite.int8_io import int8_io

NAME = "ram"
"""Name of the marks around the table in a document."""
INT8_IO, STREAMED, AGAIN = "--int8-io", "--input stream", "--max-macs 1.3"
MOST = 1.3
"""Compute factor F of the last row."""


@dataclass(frozen=True, slots=True)
class Row:
    """One conversion in bytes. `head`, `tail`, `total` and `min` are those of the rewritten model's arena."""

    model: str
    flags: str
    original: int
    """Whole arena of the original model (`total`)."""
    head: int
    tail: int
    total: int
    min: int
    lower_bound: int
    """Whether the head is proved minimal: no layout of the chosen groups is lower."""
    ratio: float
    """original / total."""
    overhead: float
    """Compute factor F."""
    seconds: float
    """Elapsed seconds, which depend on the machine and are not in the table (benchmarks/seconds.py)."""
    convention: str


COLUMNS: Mapping[str, str] = {
    "model": "model",
    "original": "original",
    "total": "**rewritten**",
    "ratio": "ratio",
    "head": "head",
    "lower_bound": "head, lower bound",
    "tail": "tail",
    "min": "smallest arena",
    "overhead": "F",
}
"""Titles by field."""


def measure(path: Path) -> Iterator[Row]:
    """Yield a row for an input in the arena and one for a streamed input. If --int8-io changes the model's interface,
    yield both again with it. The last row is for models with gates, whose tensors may be computed twice
    (docs/frontier.md).
    """
    data = path.read_bytes()
    narrow = bool(int8_io(read(data).graph).replaced)
    for int8 in (False, True)[: 1 + narrow]:
        prefix = f"{INT8_IO} " if int8 else ""
        yield _row(path, prefix.rstrip(), tflm_memopt.optimize(data, name=path.name, int8_io=int8).report)
        try:
            streamed = tflm_memopt.optimize(data, name=path.name, int8_io=int8, input="stream").report
        except UsageError:  # the input cannot be streamed
            return
        flags = f"{prefix}{STREAMED}"
        yield _row(path, flags, streamed)
    again = tflm_memopt.optimize(data, name=path.name, int8_io=narrow, input="stream", max_macs=MOST)
    if again.plan and again.plan.passes:
        yield _row(path, f"{flags} {AGAIN}", again.report)


def _row(path: Path, flags: str, report: Report) -> Row:
    before, after = report.original_arena, report.arena
    return Row(
        model=path.stem,
        flags=flags,
        original=before.total,
        head=after.head,
        tail=after.tail,
        total=after.total,
        min=after.min,
        lower_bound=report.lower_bound_head,
        ratio=round(before.total / after.total, 2),
        overhead=report.overhead,
        seconds=report.seconds,
        convention=report.convention,
    )


def markdown(rows: Sequence[Row]) -> str:
    """Return the table and a note on how the figures are counted."""
    table = tables.markdown(COLUMNS.values(), ([_cell(row, name) for name in COLUMNS] for row in rows))
    conventions = " / ".join(dict.fromkeys(row.convention for row in rows))
    return "\n".join([
        table,
        "",
        f"Bytes of the whole arena (`arena_used_bytes`), predicted: {conventions}.",
        "*Smallest arena*: with which AllocateTensors succeeds. *Lower bound*: no layout of the chosen groups has a",
        "lower head. F: multiply-accumulates done / of the original.",
    ])  # fmt: skip


def _cell(row: Row, name: str) -> str:
    match name:
        case "model":
            return f"{row.model}{f' `{row.flags}`' if row.flags else ''}"
        case "ratio":
            return f"{row.ratio:.1f}"
        case "overhead":
            return f"{row.overhead:.2f}"
        case "total":
            return f"**{row.total:,}**"
    return f"{getattr(row, name):,}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = tables.page_parser(__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the .tflite files are")
    args = parser.parse_args(arguments)
    paths = sorted(args.folder.glob("*.tflite"))
    if not paths:
        parser.error(f"no .tflite files in {args.folder}")
    tables.publish(args.update, NAME, markdown([row for path in paths for row in measure(path)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
