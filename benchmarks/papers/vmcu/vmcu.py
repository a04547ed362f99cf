"""Rewrite the bottlenecks of vMCU's Table 2 (Zheng et al.) as int8 models.

For tflm-memopt, the script states the bytes of the arena's head: inputs, outputs, rolling buffers, sums and loop
counters of the whole model. The bytes of vMCU and TinyEngine follow from formulas of the paper (section 4), and 1 kB is
1000 B. For each bottleneck, one plan computes each pixel once, and the other plan may compute pixels several times. For
each output pixel, vMCU's kernel computes all pixels under the depthwise layer's window again (section 5.2).
"""

from dataclasses import dataclass

from int8_models import Builder
from proved import proved
from tables import markdown

ANY = 4.0
"""Limit of the compute factor F (docs/glossary.md) for plans that may compute pixels twice."""
ALIGNMENT = 16
"""Alignment of tensors in TFLM, in bytes. The paper's formulas do not align tensors."""


@dataclass(frozen=True, slots=True)
class Module:
    """A row of vMCU's Table 2: a bottleneck with expansion, depthwise layer and projection, and with an ADD if the
    shapes allow one.
    """

    name: str
    size: int
    c_in: int
    c_mid: int
    c_out: int
    kernel: int
    strides: tuple[int, int, int]

    @property
    def residual(self) -> bool:
        return self.strides == (1, 1, 1) and self.c_in == self.c_out

    @property
    def stem(self) -> bool:
        """Whether the first layer is a 3x3 convolution with stride 2 instead of an expansion."""
        return self.strides[0] > 1


TABLE_2 = tuple(
    Module(*row)
    for row in (
        ("S1", 20, 16, 48, 16, 3, (1, 1, 1)), ("S2", 20, 16, 48, 16, 3, (1, 1, 1)),
        ("S3", 10, 24, 144, 16, 3, (1, 1, 1)), ("S4", 10, 24, 120, 24, 3, (1, 1, 1)),
        ("S5", 5, 40, 240, 40, 3, (1, 1, 1)), ("S6", 5, 48, 192, 48, 3, (1, 1, 1)),
        ("S7", 3, 96, 480, 96, 3, (1, 1, 1)), ("S8", 3, 96, 384, 96, 3, (1, 1, 1)),
        ("B1", 176, 3, 16, 8, 3, (2, 1, 1)), ("B2", 88, 8, 24, 16, 7, (1, 2, 1)),
        ("B3", 44, 16, 80, 16, 3, (1, 1, 1)), ("B4", 44, 16, 80, 16, 7, (1, 1, 1)),
        ("B5", 44, 16, 64, 24, 5, (1, 1, 1)), ("B6", 44, 16, 80, 24, 5, (1, 2, 1)),
        ("B7", 22, 24, 120, 24, 5, (1, 1, 1)), ("B8", 22, 24, 120, 24, 5, (1, 1, 1)),
        ("B9", 22, 24, 120, 40, 3, (1, 2, 1)), ("B10", 11, 40, 240, 40, 7, (1, 1, 1)),
        ("B11", 11, 40, 160, 40, 5, (1, 1, 1)), ("B12", 11, 40, 200, 48, 7, (1, 2, 1)),
        ("B13", 11, 48, 240, 48, 7, (1, 1, 1)), ("B14", 11, 48, 240, 48, 3, (1, 1, 1)),
        ("B15", 11, 48, 288, 96, 3, (1, 2, 1)), ("B16", 6, 96, 480, 96, 7, (1, 1, 1)),
        ("B17", 6, 96, 384, 96, 3, (1, 1, 1)),
    )
)  # fmt: skip


def model(m: Module) -> bytes:
    net, (first, middle, last) = Builder(), m.strides
    x = net.input((1, m.size, m.size, m.c_in))
    expanded = net.same(x, m.c_mid, m.kernel if m.stem else 1, first)
    filtered = net.same(expanded, m.c_mid, m.kernel, middle, depthwise=True)
    projected = net.same(filtered, m.c_out, stride=last)
    return net.model(net.add(projected, x) if m.residual else projected)


@dataclass(frozen=True, slots=True)
class Bottleneck:
    name: str
    tinyengine: int
    """TinyEngine keeps whole tensors and runs the depthwise layer in place."""
    vmcu: int
    """Number of bytes that vMCU needs by Equation 2, with a workspace of 11 pixels (section 5.2)."""
    once: int
    """Number of bytes that tflm-memopt needs if no pixel is computed twice."""
    again: int
    overhead: float


def tinyengine(m: Module) -> int:
    before, expanded, after = _sizes(m)
    return max(before + expanded, expanded + after) + (after if m.residual else 0)


def vmcu(m: Module) -> int:
    """The workspace of vMCU holds k x k + 1 pixels of the expanded tensor, and one pixel of the output."""
    before, _, after = _sizes(m)
    return max(after, distance(m) + before) + (m.kernel * m.kernel + 1) * m.c_mid + m.c_out


def distance(m: Module) -> int:
    """Return the minimum distance in bytes from the start of the output to the start of the input."""
    first, middle, last = m.strides
    out = -(-m.size // (first * middle * last))
    stride, pad = first * middle * last, (m.kernel - 1) // 2 * (first + 1 if m.stem else first)
    found = 0
    for y in range(out):
        top = max(0, y * stride - pad) * m.size
        for x in range(out):
            dead = top + max(0, x * stride - pad)
            found = max(found, (y * out + x + 1) * m.c_out - dead * m.c_in)
    return found


def _sizes(m: Module) -> tuple[int, int, int]:
    expanded = -(-m.size // m.strides[0])
    out = -(-expanded // (m.strides[1] * m.strides[2]))
    return m.size**2 * m.c_in, expanded**2 * m.c_mid, out**2 * m.c_out


def bottlenecks() -> list[Bottleneck]:
    found = []
    for m in TABLE_2:
        once, again = (proved(model(m), max_macs=most, runs=2).report for most in (1.0, ANY))
        heads = once.arena.head, again.arena.head
        found.append(Bottleneck(m.name, tinyengine(m), vmcu(m), *heads, again.overhead))
    return found


def bottleneck_table() -> str:
    titles = ["module", "TinyEngine", "vMCU by formula", "ours, F = 1", "ours", "at F"]
    rows = (
        [x.name, f"{x.tinyengine:,}", f"{x.vmcu:,}", f"{x.once:,}", f"{x.again:,}", f"{x.overhead:.2f}"]
        for x in bottlenecks()
    )
    return markdown(titles, rows)
