"""Writes inner loops for one model in Armv7E-M DSP assembly: custom_ops/src/tmo_dsp_*.S with constants folded.

The numbers of values, pixels and taps are known, so loops are unrolled. For a ReLU whose zero point is the minimum
output, one rounding term is left out, since it only affects sums that saturate. Registers that are free because of
fewer pixels hold several words of one load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

OCTET = 8
"""The number of values is rounded up to this: the least that one loop iteration processes."""
QUAD = 4
"""Number of values that are widened at once."""
MOST_OCTETS = 6
"""Maximum number of octets per loop iteration; above it, branches cost less than a hundredth of the loop."""
MOST_QUADS = 4
SAVED = "{r4-r11, lr}"
ARGUMENTS = 9 * 4
"""Bytes on the stack that SAVED takes, below the arguments on the stack."""


@dataclass(frozen=True, slots=True)
class Registers:
    """Registers for a number of pixels: sums of A and of 256 * B + A, weights, values, and five to requantize."""

    low: Sequence[str]
    high: Sequence[str]
    weights: Sequence[str]
    values: Sequence[str]
    other: str
    """Register of A's weights, or "" if they replace the weights that they are made from."""
    after: Sequence[str]
    """Pointer to the next scales; m2, c and e of a channel; a sum that is being rounded."""


REGISTERS = {
    1: Registers(
        ["r0"], ["r1"], ["r2", "r3", "r4", "r5"], ["r6", "r7", "r8", "r9"], "",
        ["r2", "r3", "r4", "r5", "r6"],
    ),
    2: Registers(
        ["r0", "r1"], ["r2", "r3"], ["r4", "r5", "r6", "r7"], ["r8", "r9", "r10", "r11"], "",
        ["r4", "r5", "r6", "r7", "r8"],
    ),
    3: Registers(
        ["r0", "r1", "r2"], ["r3", "r4", "r5"], ["r9", "r10"], ["r6", "r7", "r8"], "", ["r6", "r7", "r8", "r9", "r10"],
    ),
    4: Registers(
        ["r0", "r1", "r2", "r3"], ["r4", "r5", "r6", "r7"], ["r10"], ["r8", "r9"], "r11",
        ["r8", "r9", "r10", "r11", "lr"],
    ),
}  # fmt: skip


def largest_divisor(n: int, most: int) -> int:
    """Return the largest number up to `most` that divides n.

    >>> largest_divisor(18, 4), largest_divisor(5, 4)
    (3, 1)
    """
    return max(d for d in range(1, most + 1) if n % d == 0)


@dataclass(frozen=True, slots=True)
class Rounding:
    """Requantization of a sum to an output."""

    relu: bool
    """The zero point is the minimum output, -128."""

    def lines(self, sums: Sequence[str], m: str, c: str, e: str, t: str) -> Iterator[str]:
        for s in sums:
            yield f"add {t}, {s}, {c}"
            if not self.relu:
                yield f"add {t}, {t}, {s}, asr #31"
            yield f"smmlar {s}, {s}, {m}, {t}"
            yield f"asr {s}, {s}, {e}"
            yield f"ssat {s}, #8, {s}"


@dataclass(frozen=True)
class Pairs:
    """Kernel for pairs of channels of some pixels, called with (tile, weights, scales, outputs, pairs, bytes between
    pixels).
    """

    pixels: int
    values: int
    """K, the number of values per pixel."""
    rounding: Rounding

    @property
    def name(self) -> str:
        return f"pairs_{self.pixels}_{self.values}{'_relu' if self.rounding.relu else ''}"

    @cached_property
    def octets(self) -> int:
        """Return the number of octets per loop iteration."""
        whole = self.values // OCTET
        return whole if whole <= MOST_OCTETS else largest_divisor(whole, MOST_OCTETS)

    @property
    def turns(self) -> int:
        return self.values // OCTET // self.octets

    def lines(self) -> Iterator[str]:
        r = REGISTERS[self.pixels]
        scales, m, c, e, t = r.after
        yield from (f"push {SAVED}", "sub sp, #20", "strd r0, r3, [sp]", "str r2, [sp, #8]")
        yield from (f"ldr r4, [sp, #{20 + ARGUMENTS}]", f"mov r5, #{2 * self.values}", "mla r5, r4, r5, r1")
        yield from ("str r5, [sp, #12]", "mov r12, r1", f"mov {scales}, r2")
        if self.turns > 1:
            yield from (f"add r5, r0, #{self.tile & ~255}", f"add r5, r5, #{self.tile & 255}", "str r5, [sp, #16]")
        yield "1:"
        yield from (f"ldmia {scales}!, {{{r.low[0]}, {r.high[0]}}}", f"str {scales}, [sp, #8]", "ldr lr, [sp]")
        for low, high in zip(r.low[1:], r.high[1:], strict=True):
            yield from (f"mov {low}, {r.low[0]}", f"mov {high}, {r.high[0]}")
        yield "2:"
        yield from self._turn(r)
        if self.turns > 1:
            end = r.values[0]
            yield from (f"ldr {end}, [sp, #16]", f"cmp lr, {end}", "bne 2b")
        yield f"ldr {scales}, [sp, #8]"
        for low, high in zip(r.low, r.high, strict=True):
            yield from (f"sub {high}, {high}, {low}", f"asr {high}, {high}, #8")
        for sums in (r.low, r.high):
            yield f"ldmia {scales}!, {{{m}, {c}, {e}}}"
            yield from self.rounding.lines(sums, m, c, e, t)
        yield from self._store(r)
        yield from ("cmp r12, " + m, "bne 1b", "add sp, #20", "pop {r4-r11, pc}")

    @property
    def tile(self) -> int:
        """Return the size of the tile in bytes."""
        return 2 * self.pixels * self.values

    def _turn(self, r: Registers) -> Iterator[str]:
        for _ in range(0, 4 * self.octets, len(r.weights)):
            yield _load("r12", r.weights)
            if len(r.values) < self.pixels:
                yield from self._by_two(r)
                continue
            left: list[str] = []  # registers left of one load of values
            for w in r.weights:
                if not left:
                    yield _load("lr", r.values)
                    left = list(r.values)
                mine, left = left[: self.pixels], left[self.pixels :]
                yield from (f"smlad {high}, {w}, {x}, {high}" for high, x in zip(r.high, mine, strict=True))
                yield f"sxtb16 {w}, {w}"
                yield from (f"smlad {low}, {w}, {x}, {low}" for low, x in zip(r.low, mine, strict=True))

    def _by_two(self, r: Registers) -> Iterator[str]:
        """Yield the code for one word of weights, with the values of two pixels after those of two others."""
        (w,), first = r.weights, True
        for p in range(0, self.pixels, len(r.values)):
            yield _load("lr", r.values)
            if first:
                yield f"sxtb16 {r.other}, {w}"
            first = False
            for low, high, x in zip(r.low[p:], r.high[p:], r.values, strict=False):
                yield from (f"smlad {low}, {r.other}, {x}, {low}", f"smlad {high}, {w}, {x}, {high}")

    def _store(self, r: Registers) -> Iterator[str]:
        """Yield the stores of the outputs, and the reload of the weights' end into the register of m."""
        _, m, step, _, _ = r.after
        yield f"ldr {m}, [sp, #4]"
        if self.pixels > 1:
            yield f"ldr {step}, [sp, #{20 + ARGUMENTS + 4}]"
        for p in range(1, self.pixels):
            if p == 3:
                yield f"add {step}, {step}, {step}, lsl #1"
            yield f"bfi {r.low[p]}, {r.high[p]}, #8, #8"
            yield f"strh {r.low[p]}, [{m}, {step}{', lsl #1' if p == 2 else ''}]"
        yield f"bfi {r.low[0]}, {r.high[0]}, #8, #8"
        yield from (f"strh {r.low[0]}, [{m}], #2", f"str {m}, [sp, #4]", f"ldr {m}, [sp, #12]")

    def instructions(self, pairs: int) -> int:
        """Return the number of instructions executed in one call."""
        lines = list(self.lines())
        first = lines.index("1:")
        turn = sum(1 for _ in self._turn(REGISTERS[self.pixels]))
        again = turn + 3 if self.turns > 1 else turn
        return first + 2 + pairs * (len(lines) - first - 4 + (self.turns - 1) * again)


def _load(address: str, registers: Sequence[str]) -> str:
    if len(registers) == 1:
        return f"ldr {registers[0]}, [{address}], #4"
    if len(registers) == 2:
        return f"ldrd {registers[0]}, {registers[1]}, [{address}], #8"
    return f"ldmia {address}!, {{{', '.join(registers)}}}"


@dataclass(frozen=True, slots=True)
class Widening:
    """Kernel that widens the bytes of some pixels to int16 for Pairs, called with (pointers to the pixels' bytes,
    tile).

    It returns the end of the tile.
    """

    pixels: int
    nbytes: int
    """Bytes per pixel, at least four."""

    @property
    def name(self) -> str:
        return f"widen_{self.pixels}_{self.nbytes}"

    @property
    def quads(self) -> int:
        """Return the number of quads per loop iteration."""
        whole = self.nbytes // QUAD
        return whole if whole <= MOST_QUADS else largest_divisor(whole, MOST_QUADS)

    def lines(self) -> Iterator[str]:
        turns, rest = self.nbytes // QUAD // self.quads, self.nbytes % QUAD
        from_ = [f"r{p}" for p in range(self.pixels)]
        yield from (f"push {SAVED}", "mov r12, r1")
        yield "ldr r0, [r0]" if self.pixels == 1 else f"ldmia r0, {{{', '.join(from_)}}}"
        if turns > 1:
            yield f"mov lr, #{turns}"
        yield "1:"
        for _ in range(self.quads):
            yield from (f"ldr r{4 + p}, [{r}], #4" for p, r in enumerate(from_))
            yield from self._quad()
        if turns > 1:
            yield from ("subs lr, lr, #1", "bne 1b")
        if rest:
            for p, r in enumerate(from_):
                yield from (f"ldr r{4 + p}, [{r}, #{rest - QUAD}]", f"lsr r{4 + p}, r{4 + p}, #{8 * (QUAD - rest)}")
            yield from self._quad()
        yield from ("mov r0, r12", "pop {r4-r11, pc}")

    def _quad(self) -> Iterator[str]:
        even = [f"r{8 + p}" for p in range(self.pixels)]
        odd = [f"r{4 + p}" for p in range(self.pixels)]
        yield from (f"sxtb16 {e}, {o}" for e, o in zip(even, odd, strict=True))
        yield from (f"sxtb16 {o}, {o}, ror #8" for o in odd)
        if self.pixels == 1:
            yield "strd r8, r4, [r12], #8"
        else:
            yield from (f"stmia r12!, {{{', '.join(words)}}}" for words in (even, odd))


@dataclass(frozen=True, slots=True)
class Depthwise:
    """Kernel for groups of four channels of adjacent pixels, called with (taps, constants, outputs, pixels, channels,
    bytes between taps).
    """

    taps: int
    """Number of taps, a multiple of three."""
    rounding: Rounding

    @property
    def name(self) -> str:
        return f"depthwise_{self.taps}{'_relu' if self.rounding.relu else ''}"

    def lines(self) -> Iterator[str]:
        channels = 20 + ARGUMENTS
        yield from (f"push {SAVED}", "sub sp, #20", "strd r0, r1, [sp]", f"ldr r5, [sp, #{channels}]", "sub r5, r5, #4")
        yield from ("strd r2, r5, [sp, #8]", "str r3, [sp, #16]", "mov r12, r1", "mov r10, #0", "mov r11, r0")
        yield from ("1:", "ldmia r12!, {r0-r3}", "mov lr, r11")
        for _ in range(self.taps // 3):
            yield "ldmia lr!, {r4-r6}"
            yield from (f"ldr {r}, [{r}, r10]" for r in ("r4", "r5", "r6"))
            yield from ("pkhbt r7, r4, r5, lsl #16", "pkhtb r5, r5, r4, asr #16")
            for low, high, source in (("r0", "r1", "r7"), ("r2", "r3", "r5")):
                yield "ldrd r8, r9, [r12], #8"
                yield from (f"sxtb16 r4, {source}", f"smlad {low}, r4, r8, {low}")
                yield from (f"sxtb16 {source}, {source}, ror #8", f"smlad {high}, {source}, r9, {high}")
            yield from ("ldrd r7, r8, [r12], #8", "sxtb16 r9, r6", "sxtb16 r6, r6, ror #8")
            yield from (
                "smlabb r0, r9, r7, r0",
                "smlatt r2, r9, r7, r2",
                "smlabb r1, r6, r8, r1",
                "smlatt r3, r6, r8, r3",
            )
        for channel in range(4):
            yield "ldmia r12!, {r4, r5, r6}"
            yield from self.rounding.lines([f"r{channel}"], "r4", "r5", "r6", "r7")
        yield from ("bfi r0, r1, #8, #8", "bfi r2, r3, #8, #8", "pkhbt r0, r0, r2, lsl #16")
        yield from ("ldrd r4, r5, [sp, #8]", "str r0, [r4, r10]", "add r10, r10, #4", "cmp r10, r5", "ble 1b")
        yield from ("sub r6, r10, r5", "cmp r6, #4", "beq 3f", "mov r10, r5", "b 1b")
        yield from ("3:", "ldr r6, [sp, #16]", "subs r6, r6, #1", "beq 4f", "str r6, [sp, #16]")
        yield from (f"ldrd r7, r8, [sp, #{channels}]", "ldr r12, [sp, #4]", "sub r10, r10, r7", "add r10, r10, r8")
        yield from ("add r4, r4, r7", "sub r4, r4, r8", "add r5, r5, r8", "strd r4, r5, [sp, #8]", "b 1b")
        yield from ("4:", "add sp, #20", "pop {r4-r11, pc}")


@dataclass(frozen=True, slots=True)
class Adding:
    """Kernel that adds two operands four values at a time, called with (operands, end of the first operand, outputs,
    tables of both operands' scaled values by uint8, m2 and c).
    """

    shift: int
    """e, the shift."""
    rounding: Rounding

    @property
    def name(self) -> str:
        return f"add_{self.shift}{'_relu' if self.rounding.relu else ''}"

    def lines(self) -> Iterator[str]:
        yield from (f"push {SAVED}", f"ldr r8, [sp, #{ARGUMENTS}]", f"ldr r10, [sp, #{ARGUMENTS + 4}]")
        yield from ("add r9, r8, #1024", "ldrd r10, r11, [r10]", "1:", "ldr r4, [r0], #4", "ldr r5, [r1], #4")
        for i in range(4):
            sum_ = "r12" if i else "r6"
            turn = f", ror #{8 * i}" if i else ""
            yield from (f"uxtb {sum_}, r4{turn}", f"uxtb r7, r5{turn}")
            yield from (f"ldr {sum_}, [r8, {sum_}, lsl #2]", "ldr r7, [r9, r7, lsl #2]", f"add {sum_}, {sum_}, r7")
            yield f"add r7, {sum_}, r11"
            if not self.rounding.relu:
                yield f"add r7, r7, {sum_}, asr #31"
            yield from (f"smmlar {sum_}, {sum_}, r10, r7", f"ssat {sum_}, #8, {sum_}, asr #{self.shift}")
            if i:
                yield f"bfi r6, r12, #{8 * i}, #8"
        yield from ("str r6, [r3], #4", "cmp r0, r2", "bne 1b", "pop {r4-r11, pc}")


Core = Pairs | Widening | Depthwise | Adding


def assembly(prefix: str, core: Core) -> str:
    """Return the function PREFIX_NAME as a C statement."""
    name = f"{prefix}_{core.name}"
    head = [
        ".syntax unified", ".thumb", f'.pushsection .text.{name}, \\"ax\\", %progbits', ".balign 4", f".global {name}",
        f".type {name}, %function", ".thumb_func", f"{name}:",
    ]  # fmt: skip
    lines = [*head, *core.lines(), f".size {name}, . - {name}", ".popsection"]
    return "__asm__(\n" + "\n".join(f'    "{line}\\n"' for line in lines) + ");\n"
