"""Estimates the cycles of a model on Espressif's chips from published cycles of ESP-NN and counted instructions.

The estimates were not compared with measurements on a chip. The file esp.json has the published figures with their
sources, and a range of costs for each kernel. The cycles of plain C code are the instructions on RV32, multiplied by
the chip's cycles per instruction. No compiler for Xtensa was available, so Xtensa is assumed to need as many
instructions as RV32. The upper bounds include reads of weights from flash if the cache is too small for the weights.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from tflm_memopt.analysis import builtin_cost
from tflm_memopt.analysis.costs import Work, counted, estimate, measured, tables
from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.tflm.builtin_memory import Node, conv_shape, node_of

Span = tuple[float, float]
Costs = Mapping[str, Span]
"""Maps a field of costs.Work to the cost per unit. The key `values` has the cost of one input value in one window."""

COUNTED = "rv32"
"""Core of costs.json whose instructions are used for C code on all Espressif chips."""
TFLM = "cortex-m4"
"""Core of builtin_costs.json whose instructions are used for TFLM's reference kernels on all Espressif chips."""
TFLM_FACTOR = 2.0
"""On RV32 or Xtensa, a reference kernel takes at most TFLM_FACTOR times its instructions on a Cortex-M4."""
AT_ONCE: Mapping[str, int] = {"S3": 8, "P4": 16}
"""Maps a chip to the number of pixels that a 1x1 convolution computes for each read of the weights.

All kernels of ESP-NN except 1x1 convolutions read the weights once for each pixel.
"""
SHARE = 4
"""Weights of at most 1 / SHARE of the cache stay in the cache while their group runs."""


@dataclass(frozen=True, slots=True)
class EspChip:
    library: str
    cycles_per_instruction: Span
    """Cycles on the chip, divided by the instructions that the same C code takes on RV32."""
    kernels: Mapping[str, Costs]
    """Maps an operator to the costs of its ESP-NN kernel: cycles for vector kernels, instructions for plain C."""
    cache: int
    """Size in bytes of the chip's cache for constants in flash."""
    flash_cycles_per_byte: float
    """Number of cycles for each byte that is read from flash."""

    def operators(self, graph: Graph, ops: Collection[Op]) -> Span | None:
        found = builtin_cost.builtins(TFLM)
        if found is None:
            return None
        low = high = 0.0
        for op in ops:
            if op.type in builtin_cost.FREE:
                continue
            each = self._kernel(node_of(graph, op), op.type)
            if each is None:
                known = found.instructions(graph, op)
                if known is None:
                    return None
                each = _times((known, TFLM_FACTOR * known), self.cycles_per_instruction)
            around = _times((found.operator, TFLM_FACTOR * found.operator), self.cycles_per_instruction)
            low, high = low + each[0] + around[0], high + each[1] + around[1]
        return low, high

    def plan(self, work: Iterable[Work]) -> Span | None:
        """Return the cycles of a plan with C kernels and ESP-NN's kernels, or None if a kernel was not counted."""
        work, table = tuple(work), tables()[COUNTED]
        ours = [one for one in work if packed(one) is None]
        if not counted(table.kernels, ours):
            return None
        instructions = sum(estimate(table.kernels, one) for one in ours)
        spans = [
            _times((instructions / (1 + table.high), instructions / (1 - table.low)), self.cycles_per_instruction),
            *(self._in_library(one, kernel) for one in work if (kernel := packed(one))),
        ]
        return sum(span[0] for span in spans), sum(span[1] for span in spans) + sum(self._fetched(one) for one in work)

    def share(self, work: Iterable[Work]) -> float | None:
        """Return the fraction of a plan's multiply-accumulates that ESP-NN's kernels compute, or None for a plan
        without multiply-accumulates.
        """
        macs = [(one.macs, packed(one) is not None) for one in work]
        total = sum(n for n, _ in macs)
        return sum(n for n, inside in macs if inside) / total if total else None

    def _in_library(self, work: Work, kernel: str) -> Span:
        inside = self._library(kernel, {"macs": work.macs, "written": work.written})
        outside = _times(around(work), self.cycles_per_instruction)
        return inside[0] + outside[0], inside[1] + outside[1]

    def _library(self, kernel: str, amounts: Mapping[str, float]) -> Span:
        """Return the cycles of an ESP-NN kernel, without reads of weights from flash."""
        span = _cost(self.kernels[kernel], amounts)
        return _times(span, self.cycles_per_instruction) if self.library == "C" else span

    def _kernel(self, node: Node, kind: str) -> Span | None:
        if kind not in self.kernels or node.dtype("i0") != "INT8":
            return None
        name, amounts, weights, pixels = _amounts(node, kind)
        low, high = self._library(name, amounts)
        passes = math.ceil(pixels / (AT_ONCE.get(self.library, 1) if name == "CONV_2D 1x1" else 1))
        reads = passes if weights > self.cache else 1
        return low, high + weights * reads * self.flash_cycles_per_byte

    def _fetched(self, work: Work) -> float:
        nbytes = work.macs / work.pixels if work.pixels else 0.0
        if work.copied or nbytes <= self.cache / SHARE:
            read = nbytes * min(1.0, work.iterations)
        elif nbytes <= self.cache:
            read = nbytes * work.iterations
        else:  # Kernels that read a row in place read their weights once per iteration.
            read = nbytes * (work.iterations if _in_place(work) else work.pixels)
        return read * self.flash_cycles_per_byte


def _amounts(node: Node, kind: str) -> tuple[str, Mapping[str, float], int, int]:
    written = node.elements("o0")
    w, weights = conv_shape(node), node.elements("i1")
    if kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        depth = weights // max(1, w.out_channels)
        pixels = w.batches * w.out_h * w.out_w
        name = "CONV_2D 1x1" if kind == "CONV_2D" and w.kernel_h == w.kernel_w == 1 else kind
        taps = written * w.kernel_h * w.kernel_w
        return name, {"macs": written * depth, "taps": taps, "written": written}, weights, pixels
    if kind == "FULLY_CONNECTED":
        depth = weights // max(1, node.dim("o0", node.rank("o0") - 1))
        return kind, {"macs": written * depth, "written": written}, weights, 1
    return kind, {"values": written * w.kernel_h * w.kernel_w, "written": written}, 0, 0


def packed(work: Work) -> str | None:
    """Return the name in esp.json of an operator's ESP-NN kernel, or None if ESP-NN does not run the operator."""
    kernel = work.kernel.split()[0]
    return {"ESP_CONV": "ESP_CONV", "ESP_DEPTHWISE": "DEPTHWISE_CONV_2D"}.get(kernel)


def around(work: Work) -> Span:
    """Return the RV32 instructions of the C code that runs before and after an ESP-NN kernel."""
    kernel = work.kernel.split()[0]
    costs = _spans(measured("esp.json")["around"][kernel])
    by_row, direct = work.kernel.endswith("rows"), _in_place(work)
    window = work.taps / max(1.0, work.pixels)
    nbytes = 0.0 if direct else work.read / math.sqrt(window) if by_row and kernel == "ESP_DEPTHWISE" else work.read
    in_words = work.read % (4 * max(1.0, work.taps)) == 0
    amounts = {
        "iterations": work.iterations, "pixels": work.pixels, "loops": 0.0 if direct else work.pixels,
        "taps": 0.0 if by_row else work.taps, "quads": in_words * nbytes / 4, "singles": (not in_words) * nbytes,
    }  # fmt: skip
    return _cost(costs, amounts)


def _in_place(work: Work) -> bool:
    return packed(work) == "ESP_CONV" and work.taps == work.pixels and work.read % (16 * max(1.0, work.taps)) == 0


def _cost(costs: Costs, amounts: Mapping[str, float]) -> Span:
    low, high = (sum(n * costs.get(unit, (0.0, 0.0))[end] for unit, n in amounts.items()) for end in (0, 1))
    return low, high


def _spans(costs: Mapping[str, list[float]]) -> Costs:
    return {unit: (low, high) for unit, (low, high) in costs.items()}


def _times(span: Span, factor: Span) -> Span:
    return span[0] * factor[0], span[1] * factor[1]


@cache
def chip(name: str) -> EspChip | None:
    """Return the costs of operators on one of Espressif's chips, or None for a chip of another manufacturer.

    >>> chip("ESP32-S3").library, chip("nRF52840")
    ('S3', None)
    """
    values = measured("esp.json")["chips"].get(name)
    if values is None:
        return None
    least, most = values["cycles_per_instruction"]
    return EspChip(
        library=values["kernels"],
        cycles_per_instruction=(least, most),
        kernels={kernel: _spans(costs) for kernel, costs in measured("esp.json")["kernels"][values["kernels"]].items()},
        cache=values["cache"],
        flash_cycles_per_byte=values["flash_cycles_per_byte"],
    )
