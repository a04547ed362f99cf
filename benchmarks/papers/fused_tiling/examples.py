"""Fused tiling's examples as int8 models, rewritten and executed under TFLM, byte for byte.

    python benchmarks/papers/fused_tiling/examples.py [--json] [--update docs/benchmarks.md]

The running example of chapter 4 of the thesis is a convolution 6x2 with stride 2, a depthwise one 3x3, one 1x1 to 64
channels, average pooling and a dense layer. In float32 it needs 24,576 B, and 16,384 B if tiled by depth; in int8 a
quarter of that. The text model is like the thesis' TXT: the mean of an embedding for each word. No tiling of feature
maps can shrink the text model.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from int8_models import Builder
from tables import markdown, page_parser, publish

import tflm_memopt

WORDS, VOCABULARY, WIDTH, CLASSES = 256, 1000, 16, 2
"""Sizes of the text model: indices, rows and columns of the embedding's table, outputs."""
RUNS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One model in bytes. Heads are activations and scratch, totals are whole arenas."""

    model: str
    thesis_before: int | None
    """Figures of the thesis, as int8."""
    thesis_after: int | None
    head_before: int
    head: int
    total_before: int
    total: int
    saved: float
    """Lower bound of the head in bytes."""
    runs: int
    bit_exact: bool


COLUMNS: Mapping[str, str] = {
    "model": "model", "thesis_before": "thesis, untiled", "thesis_after": "thesis, tiled", "head_before": "TFLM, head",
    "head": "**head**", "saved": "saved", "total_before": "TFLM, whole arena", "total": "whole arena",
    "bit_exact": "same bytes",
}  # fmt: skip


THESIS = 24_576 // 4, 16_384 // 4
"""Bytes of the running example in int8, before and after the thesis' tiling."""


def running_example() -> bytes:
    net = Builder()
    x = net.input((1, 32, 8, 1))
    x = net.conv(x, 32, (6, 2), (2, 2), (2, 0), (16, 4), depthwise=False, same=True)
    x = net.conv(x, 32, (3, 3), (1, 1), (1, 1), (16, 4), depthwise=True, same=True)
    x = net.conv(x, 64, (1, 1), (1, 1), (0, 0), (16, 4), depthwise=False)
    x = net.pool(x, (16, 4), (16, 4), average=True, same=False)
    return net.model(net.dense(x, 6))


def text_model() -> bytes:
    net = Builder()
    words = net.gather(net.input((1, WORDS), indices=True), VOCABULARY, WIDTH)
    return net.model(net.softmax(net.dense(net.dense(net.mean(words), WIDTH), CLASSES)))


def row(name: str, data: bytes, thesis: tuple[int, int] | tuple[None, None]) -> Row:
    result = tflm_memopt.optimize(data, name=name)
    verification = tflm_memopt.verify(data, result.model, runs=RUNS)
    before, after = result.report.original_arena, result.report.arena
    return Row(
        model=name,
        thesis_before=thesis[0],
        thesis_after=thesis[1],
        head_before=before.head,
        head=after.head,
        total_before=before.total,
        total=after.total,
        saved=1 - after.head / before.head,
        runs=verification.runs + verification.extremes,
        bit_exact=verification.bit_exact,
    )


def rows() -> list[Row]:
    return [row("running example", running_example(), THESIS), row("embedding and mean", text_model(), (None, None))]


def table(found: Sequence[Row]) -> str:
    return markdown(COLUMNS.values(), ([_cell(row, name) for name in COLUMNS] for row in found))


def _cell(row: Row, name: str) -> str:
    value = getattr(row, name)
    match name:
        case "model":
            return str(value)
        case "saved":
            return f"{100 * value:.1f} %"
        case "head":
            return f"**{value:,}**"
        case "bit_exact":
            return f"{'yes' if value else 'NO'}, {row.runs} runs"
    return "" if value is None else f"{value:,}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = page_parser(__doc__)
    args = parser.parse_args(arguments)
    found = rows()
    publish(args.update, "fused-tiling", table(found))
    return 0 if all(row.bit_exact for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
