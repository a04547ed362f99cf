"""Measure the RAM of models that are rewritten with `--ops builtin`.

All sizes are bytes of an arena that contains the model's input, with 32-bit pointers. The row "two convolutions" is the
start of a CIFAR-10 classifier from Stahl's thesis on fused tiling, with random weights.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from int8_models import Builder
from proved import proved
from tables import markdown

from tflm_memopt.answers.optimized import Optimized

MOVES = ("PAD", "SLICE", "CONCATENATION")
CIF = "two convolutions"
WAKE_WORDS = ("mww_okay_nabu_v2", "mww_vad_v2")
LEVEL_1 = ("mlperf_tiny_kws_dscnn_int8", "mlperf_tiny_vww_96_int8", "mlperf_tiny_ic_resnet8_int8")
PARTS: tuple[tuple[str, dict[str, Any]], ...] = (
    (CIF, {"max_macs": 1.5}), (CIF, {"ram_limit": 21_508}), ("mlperf_tiny_vww_96_int8", {}),
    ("mcunet_vww_80_float_io", {"max_macs": 1.25}), ("mcunet_vww_80_float_io", {"int8_io": True, "max_macs": 1.25}),
    ("mcunetv2_large_224_float_io", {"max_macs": 1.25}),
    ("mcunetv2_large_224_float_io", {"int8_io": True, "max_macs": 1.25}),
)  # fmt: skip


def two_convolutions() -> bytes:
    net = Builder()
    x = net.same(net.same(net.input((1, 32, 32, 3)), 32, 3), 16, 3, 2)
    return net.model(net.dense(net.pool(x, kernel=(16, 16), stride=(16, 16)), 10))


def converted(models: Path, model: str, **options: Any) -> Optimized:
    data = two_convolutions() if model == CIF else (models / f"{model}.tflite").read_bytes()
    return proved(data, ops="builtin", **options)


def offsets(models: Path) -> str:
    lines = []
    for model in LEVEL_1:
        reference, either = (converted(models, model, kernels=kernels).report for kernels in ("reference", None))
        heads = either.original_arena.head, reference.arena.head, either.arena.head
        lines.append([model, *(f"{n:,}" for n in heads)])
    return markdown(["model", "head today", "reference kernels", "any kernels"], lines)


def states(models: Path) -> str:
    titles = ["model", "total today", "total", "head today", "head"]
    return markdown(titles, ([model, *_sizes(converted(models, model))] for model in WAKE_WORDS))


def parts(models: Path) -> str:
    titles = (
        "model", "total today", "total", "saved", "head today", "head", "saved", "F", "file today", "file", "parts",
    )  # fmt: skip
    return markdown(titles, (_part(models, model, options) for model, options in PARTS))


def _part(models: Path, model: str, options: Mapping[str, Any]) -> list[str]:
    done = converted(models, model, kernels="reference", allow_ops=MOVES, **options)
    report, before, after = done.report, done.report.original_arena, done.report.arena
    flags = " ".join(
        f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}") for name, value in options.items()
    )
    total_before, total, head_before, head = _sizes(done)
    return [
        f"{model} `{flags}`" if flags else model,
        total_before, total, _saved(before.total, after.total), head_before, head, _saved(before.head, after.head),
        f"{report.overhead:.2f}", f"{report.flash.original:,}", f"{report.flash.rewritten:,}",
        "; ".join(map(str, report.in_parts)),
    ]  # fmt: skip


def _sizes(done: Optimized) -> list[str]:
    before, after = done.report.original_arena, done.report.arena
    return [f"{n:,}" for n in (before.total, after.total, before.head, after.head)]


def _saved(before: int, after: int) -> str:
    return f"{100 * (1 - after / before):.0f} %"
