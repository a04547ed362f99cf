"""Compare RAM, slow memory, work and time with the published figures of TiGrIS, a planner for a fast and a slow memory.

The networks have the layers that TiGrIS' repository states, and random weights.
"""

from collections.abc import Iterator, Sequence

from int8_models import Builder
from papers.joint_memory import classifiers
from tables import markdown

import tflm_memopt

SOURCE = "https://github.com/raws-labs/tigris-bench (cortex-m-deployability/results/summary.json at 50f599c)"
STREAMED = "`--input stream`"
LARGE = ("does not fit", "127,424", "175,616", "5,384", "613 M, M7")
PUBLISHED = (
    ("DS-CNN", "22,692", "16,144", "512", "308", "10.78 M, M4"),
    ("autoencoder", "15,828", "1,424", "1,280", "44", "0.894 M, M4"),
    ("1-D CNN", "2,980", "1,024", "528", "412", "0.281 M, M4"),
    ("MobileNetV2 0.35 at 224", *LARGE),
    (f"MobileNetV2 0.35 at 224, {STREAMED}", *LARGE),
)
"""For each network, the sizes in bytes and the cycles of one inference that TiGrIS has published."""
COLUMNS = (
    "network", "TFLM", "TiGrIS: fast", "slow", "scratch, table", "cycles", "**ours**: arena", "slow", "MACs", "F",
    "cycles",
)  # fmt: skip


def table() -> str:
    return markdown(COLUMNS, map(_row, PUBLISHED, networks())) + (
        f"\n\nPublished figures are medians of 30 runs with CMSIS-NN from {SOURCE}. Our figures are sizes of the "
        "whole arena under TFLM for ilp32 and `--target cortex-m4`. If the input is not "
        "streamed, the arena includes the input. Cycles are modelled for a Cortex-M4, and the range covers every known "
        "flash timing."
    )


def _row(published: Sequence[str], model: bytes) -> list[str]:
    where = "stream" if STREAMED in published[0] else "arena"
    report = tflm_memopt.optimize(model, target="cortex-m4", clock=180, input=where).report
    time = report.time.rewritten if report.time else None
    span = time.milliseconds if time else None
    cycles = f"{span[0] * 0.18:.2f} to {span[1] * 0.18:.2f} M, M4" if span else "unknown"
    slow = report.memories.slow if report.memories else 0
    ours = f"**{report.arena.total:,}**", f"{slow:,}", f"{report.macs.rewritten:,}", f"{report.overhead:.2f}", cycles
    return [*published, *ours]


def networks() -> Iterator[bytes]:
    net = Builder()
    x = net.same(net.input((1, 49, 10, 1)), 64, (10, 4), (2, 2))
    for _ in range(4):
        x = net.same(net.same(x, 64, (3, 3), depthwise=True), 64)
    yield net.model(net.dense(net.mean(x, (1, 2), keep=False), 12))

    net = Builder()
    x = net.input((1, 640))
    for units in (128, 128, 128, 128, 8, 128, 128, 128, 128, 640):
        x = net.dense(x, units)
    yield net.model(x)

    net = Builder()
    x = net.input((1, 64, 1, 8))
    for channels in (16, 32, 32):
        x = net.same(x, channels, (3, 1), (2, 1))
    yield net.model(net.dense(net.mean(x, (1, 2), keep=False), 10))
    yield from [mobilenet_v2()] * 2


def mobilenet_v2() -> bytes:
    """Return Keras' MobileNetV2 of width 0.35 for 224x224 pixels with 10 classes and no softmax."""
    net = Builder()
    x = net.input((1, 224, 224, 3))
    *stages, _ = classifiers.mobilenet_v2(0.35)
    return net.model(net.dense(net.mean(classifiers.added(net, x, stages), (1, 2), keep=False), 10))
