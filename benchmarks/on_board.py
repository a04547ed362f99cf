"""Make the README's table of the RAM and the time of public models on a board, before and after rewriting.

Each row is a conversion with `optimize --board nano33ble --int8-io`. Times are estimated milliseconds
(docs/targets.md). The original model runs with CMSIS-NN's kernels.
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
TITLES = ("model (MLPerf Tiny)", "RAM before", "**after**", "ms before", "**after**")


def table(models: Path) -> str:
    return markdown(TITLES, (row(models / f"{name}.tflite") for name in MODELS))


def row(path: Path) -> list[str]:
    report = tflm_memopt.optimize(path.read_bytes(), name=path.name, board="nano33ble", int8_io=True).report
    times = (report.time.original, report.time.rewritten) if report.time else (None, None)
    before, after = (text(one.milliseconds if one else None) for one in times)
    sizes = f"{report.original_arena.total:,}", f"**{report.arena.total:,}**"
    return [MODELS[path.stem], *sizes, before, f"**{after}**"]


def text(milliseconds: tuple[float, float] | None) -> str:
    """Return a range of milliseconds as text, without digits after the decimal point.

    >>> text((6.01, 14.1)), text(None)
    ('6 to 14', 'unknown')
    """
    return " to ".join(f"{value:,.0f}" for value in milliseconds) if milliseconds else "unknown"
