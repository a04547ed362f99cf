"""Rewrite two examples of Stahl's thesis on fused tiling as int8 models, and compare their output bytes under TFLM.

The example of chapter 4 has a convolution, a depthwise convolution, a convolution 1x1 to 64 channels, average pooling
and a dense layer. In float32, the example of chapter 4 needs 24,576 B, or 16,384 B if its channels are tiled. Like the
thesis' network TXT, the text model computes the mean of the embeddings of all words.
"""

from collections.abc import Sequence

from int8_models import Builder
from tables import markdown

import tflm_memopt
from tflm_memopt.answers.report import Report

WORDS, VOCABULARY, WIDTH, CLASSES = 256, 1000, 16, 2
RUNS = 5

COLUMNS = (
    "model", "thesis, untiled", "thesis, tiled", "TFLM, head", "**head**", "saved", "TFLM, whole arena", "whole arena",
    "same bytes",
)  # fmt: skip
THESIS = 24_576 // 4, 16_384 // 4
"""Bytes that the thesis implies for the int8 example of chapter 4, before and after tiling."""


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


def rewritten(name: str, data: bytes) -> tuple[Report, int]:
    """Raises RuntimeError if an output byte differs."""
    result = tflm_memopt.optimize(data, name=name)
    verification = tflm_memopt.verify(data, result.model, runs=RUNS)
    if not verification.bit_exact:
        raise RuntimeError(f"{name}: outputs differ")
    return result.report, verification.tried


def row(name: str, data: bytes, thesis: Sequence[int] = ()) -> list[str]:
    """The thesis states the bytes `thesis`, before and after tiling."""
    report, runs = rewritten(name, data)
    before, after = report.original_arena, report.arena
    saved = f"{100 * (1 - after.head / before.head):.1f} %"
    figures = f"{before.head:,}", f"**{after.head:,}**", saved, f"{before.total:,}", f"{after.total:,}"
    return [name, *([f"{n:,}" for n in thesis] or ["", ""]), *figures, f"yes, {runs} runs"]


def table() -> str:
    rows = row("running example", running_example(), THESIS), row("embedding and mean", text_model())
    return markdown(COLUMNS, rows)
