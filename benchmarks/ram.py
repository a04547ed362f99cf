"""Make a table of the RAM of every .tflite file of a folder, before and after.

    python benchmarks/ram.py ../shared/models
    python benchmarks/ram.py ../shared/models --update docs/benchmarks.md

`--update` rewrites what stands between `<!-- ram:begin -->` and `<!-- ram:end -->`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import tables

import tflm_memopt
from tflm_memopt.errors import UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.results import Report
from tflm_memopt.rewrite.int8_io import int8_io

INT8_IO, STREAMED, AGAIN = "--int8-io", "--input stream", "--max-macs 1.3"
MOST = 1.3
"""Compute factor F of the last row for each model."""


Row = tuple[list[str], str]
"""The cells of one conversion in the table, and the convention of its sizes in bytes."""
TITLES = (
    "model", "original", "**rewritten**", "ratio", "head", "head, lower bound", "tail", "smallest arena", "F",
)  # fmt: skip


def measure(path: Path) -> Iterator[Row]:
    """Yield a row for an input in the arena and a row for a streamed input. If --int8-io changes the model's interface,
    yield both rows again with int8 inputs and outputs. The last row is for models with gates, whose tensors may be
    computed twice (docs/frontier.md).
    """
    data = path.read_bytes()
    narrow = bool(int8_io(read(data).graph).replaced)
    for int8 in (False, True)[: 1 + narrow]:
        prefix = f"{INT8_IO} " if int8 else ""
        yield _row(path, prefix.rstrip(), tflm_memopt.optimize(data, name=path.name, int8_io=int8).report)
        try:
            streamed = tflm_memopt.optimize(data, name=path.name, int8_io=int8, input="stream").report
        except UsageError:  # the input of this model cannot be streamed
            return
        flags = f"{prefix}{STREAMED}"
        yield _row(path, flags, streamed)
    again = tflm_memopt.optimize(data, name=path.name, int8_io=narrow, input="stream", max_macs=MOST)
    if again.plan and again.plan.passes:
        yield _row(path, f"{flags} {AGAIN}", again.report)


def _row(path: Path, flags: str, report: Report) -> Row:
    """Return the cells of a conversion in the table, and its convention."""
    before, after = report.original_arena, report.arena
    sizes = (f"{n:,}" for n in (after.head, report.lower_bound_head, after.tail, after.min))
    return [
        f"{path.stem} `{flags}`" if flags else path.stem, f"{before.total:,}", f"**{after.total:,}**",
        f"{before.total / after.total:.1f}", *sizes, f"{report.overhead:.2f}",
    ], report.convention  # fmt: skip


def markdown(rows: Sequence[Row]) -> str:
    """Return the table and a note on how the figures are counted."""
    conventions = " / ".join(dict.fromkeys(convention for _, convention in rows))
    return "\n".join([
        tables.markdown(TITLES, (cells for cells, _ in rows)),
        "",
        f"Bytes of the whole arena (`arena_used_bytes`), predicted: {conventions}.",
        "*Smallest arena*: with which AllocateTensors succeeds. *Lower bound*: no layout of the chosen groups has a",
        "lower head. F: multiply-accumulates done / of the original.",
    ])  # fmt: skip


def main() -> None:
    parser = tables.page_parser(__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the .tflite files are")
    args = parser.parse_args()
    rows = [row for path in tables.tflite_files(parser, args.folder) for row in measure(path)]
    tables.publish(args.update, "ram", markdown(rows))


if __name__ == "__main__":
    main()
