"""Make Table 4.1 of Stahl's thesis on fused tiling for similar networks.

The thesis uses float32 networks in code that TVM generates, and this script uses int8 models under TFLM. All networks
have random weights, except the keyword network, which comes from MLPerf Tiny. The shapes of the layers are published,
or similar to published shapes. The figures are bytes of an arena with 32-bit pointers and TFLM's reference kernels. The
model's input is in the arena. FFMT divides rows into stripes, and FDT divides channels into groups (fan-out). A tiled
network may have additional PAD, SLICE and CONCATENATION operators, and at most 1.5 times the multiply-accumulates of
the original. All output bytes of each model are compared in TFLM's official wheel.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from int8_models import Builder
from papers.joint_memory.classifiers import added, inverted, mobilenet_v1
from proved import proved
from tables import markdown

MOST = 1.5
"""Limit of the compute factor F (docs/glossary.md) for networks with FFMT."""
_BUILTIN: Mapping[str, Any] = {"ops": "builtin", "kernels": "reference"}
_PARTS: Mapping[str, Any] = {**_BUILTIN, "allow_ops": ("PAD", "SLICE", "CONCATENATION"), "max_macs": MOST}
WAYS: Mapping[str, Mapping[str, Any]] = {
    "offsets": _BUILTIN,
    "FFMT": {**_PARTS, "without": ("channel-groups",)},
    "FDT": {**_PARTS, "without": ("stripes",)},
    "both": _PARTS,
    "operator, no groups": {"without": ("channel-groups",)},
    "operator": {},
}

PUBLISHED: Mapping[str, tuple[float, float]] = {
    "AWW": (0.0, 18.1), "TXT": (0.0, 76.2), "MW": (61.3, 35.5), "POS": (45.3, 4.4), "SSD": (39.4, 14.6),
    "CIF": (61.8, 5.7), "RAD": (22.0, 19.6),
}  # fmt: skip
"""Percentages of memory that FFMT and FDT save in Table 4.1 of the thesis."""
KEYWORDS = "mlperf_tiny_kws_dscnn_int8.tflite"
SUBSTITUTES = {"TXT", "CIF", "RAD"}
"""The thesis did not publish its networks, so the script uses similar networks."""


def text_model() -> bytes:
    net = Builder()
    words = net.gather(net.input((1, 256), None, dtype="INT32"), rows=1000, width=16)
    return net.model(net.softmax(net.dense(net.dense(net.mean(words, (1,), keep=False), 16), 2)))


def magic_wand() -> bytes:
    """Return TensorFlow's gesture network: two convolutions over 128 samples of an accelerometer's three axes."""
    net = Builder()
    x = net.same(net.input((1, 128, 3, 1)), 8, (4, 3))
    x = net.same(net.pool(x, kind="MAX_POOL_2D", kernel=(3, 3), stride=(3, 3)), 16, (4, 1))
    x = net.pool(x, kind="MAX_POOL_2D", kernel=(3, 1), stride=(3, 1))
    return net.model(net.softmax(net.dense(net.dense(x, 16), 4)))


def pose() -> bytes:
    """Return PoseNet: MobileNet V1 for 257 x 257 pixels, and a convolution for each of four outputs."""
    net = Builder()
    *stages, _ = mobilenet_v1(1.0)
    x = added(net, net.input((1, 257, 257, 3)), stages)
    return net.model(*(net.same(x, channels) for channels in (17, 34, 32, 32)))


def detector() -> bytes:
    """Return SSDLite on MobileNet V2 for 224 x 224 pixels: boxes and 91 classes of six anchors on four maps."""
    net = Builder()
    x = net.same(net.same(net.same(net.input((1, 224, 224, 3)), 32, 3, 2), 32, 3, depthwise=True), 16)
    maps = []
    for channels, count, stride in ((24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1)):
        if channels == 160:
            maps.append(x)
        for n in range(count):
            x = inverted(channels, stride if n == 0 else 1, 6)(net, x)
    maps.append(x := net.same(x, 1280))
    for channels in (512, 256):
        squeezed = net.same(x, channels // 2)
        maps.append(x := net.same(net.same(squeezed, channels // 2, 3, 2, depthwise=True), channels))
    heads = ((m, outputs) for m in maps for outputs in (6 * 4, 6 * 91))
    return net.model(*(net.same(net.same(m, net.shape(m)[3], 3, depthwise=True), n) for m, n in heads))


def cifar() -> bytes:
    net = Builder()
    x = net.same(net.input((1, 32, 32, 3)), 32, 3)
    x = net.same(net.same(x, 16, 3, 2), 32, 3, 2)
    return net.model(net.softmax(net.dense(net.dense(x, 64), 10)))


def radar() -> bytes:
    net = Builder()
    x = net.same(net.same(net.input((1, 32, 32, 3)), 8, 3, 2), 8, 3, 2)
    return net.model(net.softmax(net.dense(x, 5)))


NETWORKS: Mapping[str, Callable[[], bytes]] = {
    "TXT": text_model, "MW": magic_wand, "POS": pose, "SSD": detector, "CIF": cifar, "RAD": radar,
}  # fmt: skip


def row(name: str, data: bytes) -> list[str]:
    reports = [proved(data, name=name, **settings).report for settings in WAYS.values()]
    today, totals = reports[0].original_arena.total, [report.arena.total for report in reports]
    ways = (f"{total:,}, {100 * (1 - total / today):.1f} %" for total in totals)
    title = f"{name} (substitute)" if name in SUBSTITUTES else name
    return [title, *(f"{saved:.1f} %" for saved in PUBLISHED[name]), f"{today:,}", *ways]


def table(folder: Path) -> str:
    models = {name: (folder / KEYWORDS).read_bytes() if name == "AWW" else NETWORKS[name]() for name in PUBLISHED}
    titles = ["model", "thesis, FFMT", "thesis, FDT", "TFLM today", *WAYS]
    return markdown(titles, (row(name, data) for name, data in models.items()))
