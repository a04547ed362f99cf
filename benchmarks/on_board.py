"""Make the README's table: RAM and time of a few public models on one board, before and after a rewrite.

Each row is a conversion with `optimize --board nano33ble --int8-io`. Times are estimated ranges in milliseconds
(docs/targets.md); the original model runs with CMSIS-NN's kernels.
"""

from collections.abc import Mapping
from pathlib import Path

from tables import markdown

import tflm_memopt

MODELS: Mapping[str, str] = {
    "mlperf_tiny_kws_dscnn_int8": "keyword spotting, DS-CNN",
    "mlperf_tiny_ic_resnet8_int8": "image classification, ResNet-8",
    "mlperf_tiny_vww_96_int8": "person detection, MobileNetV1",
    "mlperf_tiny_ad_autoencoder_int8": "anomaly detection, autoencoder",
    "str_ww_ref_model": "wake word, 1-D convolutions",
}
"""Task of each MLPerf Tiny model, by the name of its file."""
TITLES = ("model (MLPerf Tiny)", "RAM before", "**after**", "ms before", "**after**")


def table(models: Path) -> str:
    return markdown(TITLES, (row(models / f"{name}.tflite") for name in MODELS))


def row(path: Path) -> list[str]:
    """Return a row of the table: a model's arena in bytes, and the milliseconds of one inference."""
    report = tflm_memopt.optimize(path.read_bytes(), name=path.name, board="nano33ble", int8_io=True).report
    times = (report.time.original, report.time.rewritten) if report.time else (None, None)
    before, after = (text(one.milliseconds if one else None) for one in times)
    sizes = f"{report.original_arena.total:,}", f"**{report.arena.total:,}**"
    return [MODELS[path.stem], *sizes, before, f"**{after}**"]


def text(milliseconds: tuple[float, float] | None) -> str:
    """Return a range of milliseconds as a cell of the table.

    >>> text((6.01, 14.1)), text(None)
    ('6 to 14', 'unknown')
    """
    return " to ".join(f"{value:,.0f}" for value in milliseconds) if milliseconds else "unknown"
