"""Make the README's table: RAM and time of a few public models on one board, before and after.

    python benchmarks/on_board.py --models DIR [--board nano33ble] [--update README.md]

A row is one conversion, `optimize --board BOARD --int8-io`. Times are estimates (docs/targets.md): a range in
milliseconds, for the original with CMSIS-NN's kernels.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tables import markdown, page_parser, publish

import tflm_memopt

NAME = "board"
"""Name of the marks around the table in a document."""
MODELS: Mapping[str, str] = {
    "mlperf_tiny_kws_dscnn_int8": "keyword spotting, DS-CNN",
    "mlperf_tiny_ic_resnet8_int8": "image classification, ResNet-8",
    "mlperf_tiny_vww_96_int8": "person detection, MobileNetV1",
    "mlperf_tiny_ad_autoencoder_int8": "anomaly detection, autoencoder",
    "str_ww_ref_model": "wake word, 1-D convolutions",
}
"""Task of each model, by file stem. All are reference models of MLPerf Tiny."""
TITLES = ("model (MLPerf Tiny)", "RAM before", "**after**", "ms before", "**after**")
Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Row:
    """One conversion: bytes of the whole arena, and milliseconds of one inference."""

    model: str
    ram_before: int
    ram_after: int
    ms_before: Range | None
    ms_after: Range | None


def row(path: Path, board: str) -> Row:
    report = tflm_memopt.optimize(path.read_bytes(), name=path.name, board=board, int8_io=True).report
    times = (report.time.original, report.time.rewritten) if report.time else (None, None)
    before, after = (one.milliseconds if one else None for one in times)
    return Row(path.stem, report.original_arena.total, report.arena.total, before, after)


def table(rows: Sequence[Row]) -> str:
    cells = (
        [MODELS[r.model], f"{r.ram_before:,}", f"**{r.ram_after:,}**", text(r.ms_before), f"**{text(r.ms_after)}**"]
        for r in rows
    )
    return markdown(TITLES, cells)


def text(milliseconds: Range | None) -> str:
    """A range as a cell of the table.

    >>> text((6.01, 14.1)), text(None)
    ('6 to 14', 'unknown')
    """
    return " to ".join(f"{value:,.0f}" for value in milliseconds) if milliseconds else "unknown"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = page_parser(__doc__)
    parser.add_argument("--models", type=Path, required=True, metavar="DIR", help="folder with the public models")
    parser.add_argument("--board", default="nano33ble", help="as of tflm-memopt (default: nano33ble)")
    args = parser.parse_args(arguments)
    rows = [row(args.models / f"{name}.tflite", args.board) for name in MODELS]
    publish(args.update, NAME, table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
