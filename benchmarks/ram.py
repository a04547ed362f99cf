"""Make a table of the RAM of each original model and of each rewritten model."""

from collections.abc import Iterator
from pathlib import Path

from tables import markdown, models

import tflm_memopt
from tflm_memopt.answers.report import Report
from tflm_memopt.errors import UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.rewrite.int8_io import int8_io

INT8_IO, STREAMED, AGAIN = "--int8-io", "--input stream", "--max-macs 1.3"
MOST = 1.3

Row = tuple[list[str], str]
TITLES = (
    "model", "original", "**rewritten**", "ratio", "head", "head, lower bound", "tail", "smallest arena", "F",
)  # fmt: skip


def measure(path: Path) -> Iterator[Row]:
    """Return a table row for the model with its input in the arena, and a table row for the model with a streamed
    input. If `--int8-io` changes the model, also return two rows for the changed model.
    """
    data = path.read_bytes()
    narrow = bool(int8_io(read(data).graph).replaced)
    for int8 in (False, True)[: 1 + narrow]:
        prefix = f"{INT8_IO} " if int8 else ""
        yield _row(path, prefix.rstrip(), tflm_memopt.optimize(data, name=path.name, int8_io=int8).report)
        try:
            streamed = tflm_memopt.optimize(data, name=path.name, int8_io=int8, input="stream").report
        except UsageError:
            return
        flags = f"{prefix}{STREAMED}"
        yield _row(path, flags, streamed)
    again = tflm_memopt.optimize(data, name=path.name, int8_io=narrow, input="stream", max_macs=MOST)
    if again.plan and again.plan.rematerialisations:
        yield _row(path, f"{flags} {AGAIN}", again.report)


def _row(path: Path, flags: str, report: Report) -> Row:
    before, after = report.original_arena, report.arena
    sizes = (f"{n:,}" for n in (after.head, report.lower_bound_head, after.tail, after.min))
    return [
        f"{path.stem} `{flags}`" if flags else path.stem, f"{before.total:,}", f"**{after.total:,}**",
        f"{before.total / after.total:.1f}", *sizes, f"{report.overhead:.2f}",
    ], report.convention  # fmt: skip


def table(folder: Path) -> str:
    rows = [row for path in models(folder) for row in measure(path)]
    conventions = " or ".join(dict.fromkeys(f"`{convention}`" for _, convention in rows))
    return "\n".join([
        markdown(TITLES, (cells for cells, _ in rows)),
        "",
        f"The table states the predicted bytes of the whole arena. The bytes are counted as {conventions}.",
        "The column *smallest arena* has the smallest size with which AllocateTensors succeeds.",
        "Every layout of the chosen groups takes at least the bytes in the column *lower bound*.",
        "F is the ratio of the rewritten model's multiply-accumulates to the original's.",
    ])  # fmt: skip
