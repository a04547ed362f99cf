"""Random peripherals and drivers: as SVD and C in the description language, and as plain C with one call per access.

The plain version depends only on the draw and uses no part of the generator.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from registers.simulated import Row

SHARED = ("rw",) * 12 + ("volatile", "ro", "clear", "trigger", "wo")
NAMES = "abcdefgh"


@dataclass(frozen=True)
class Bits:
    """A field, or an array of `count` of them in one register."""

    name: str
    kind: str
    bit: int
    bits: int
    count: int = 0


@dataclass(frozen=True)
class Word:
    """A register, or an array of them."""

    name: str
    offset: int
    fields: tuple[Bits, ...]
    count: int = 0
    reset: bool = False
    """The description states the reset values of reserved bits."""

    def others(self, one: Bits) -> list[Bits]:
        return [f for f in self.fields if f is not one]


@dataclass
class Drawn:
    seed: int
    words: list[Word]
    place: bool
    text: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    has_interrupt: bool = False

    @property
    def device(self) -> str:
        return f"dev{self.seed}"

    @property
    def base(self) -> int:
        return 0x40000000 + 0x1000 * (self.seed % 0x40000)


def draw(seed: int) -> Drawn:
    rng = random.Random(seed)
    place = rng.random() < 0.3
    words, offset = [], 0
    for index in range(rng.randint(2, 4)):
        word = _word(rng, f"R{index}", offset, place)
        words.append(word)
        offset += 4 * (word.count or 1)
    case = Drawn(seed, words, place)
    _Writer(case, rng).write()
    return case


def _word(rng: random.Random, name: str, offset: int, place: bool) -> Word:
    lot = rng.random()
    if lot < 0.1:
        return Word(name, offset, (Bits("a", "fifo", 0, 32),))
    if lot < 0.2:
        return Word(name, offset, (Bits("a", rng.choice(("rc", "rw")), 0, 32),))
    fields, bit = [], rng.randint(0, 3)
    for letter in NAMES[: rng.randint(2, 6)]:
        bits = rng.randint(1, 6)
        kind = rng.choice(SHARED) if rng.random() < 0.95 or place else "rc"
        count = rng.choice((2, 4)) if kind == "rw" and rng.random() < 0.1 else 0
        if bit + bits * (count or 1) > 32:
            break
        fields.append(Bits(letter, kind, bit, bits, count))
        bit += bits * (count or 1) + rng.choice((0, 0, 1, 3))
    return Word(name, offset, tuple(fields), rng.choice((0, 0, 0, 3)), rng.random() < 0.5)


# --- descriptions

ACCESS = {"ro": "read-only", "volatile": "read-only", "rc": "read-only", "wo": "write-only"}
BUS = {
    "rw": ("BUS_READ_WRITE", ()), "ro": ("BUS_READ_ONLY", ()), "volatile": ("BUS_READ_ONLY", ("BUS_VOLATILE",)),
    "rc": ("BUS_READ_CLEARS", ()), "clear": ("BUS_ONE_CLEARS", ()), "trigger": ("BUS_READ_WRITE", ("BUS_WRITE_ACTS",)),
    "wo": ("BUS_WRITE_ONLY", ()), "fifo": ("BUS_READ_WRITE", ("BUS_PULSE", "BUS_READ_ACTS")),
}  # fmt: skip


def rows(case: Drawn) -> list[Row]:
    """Return the bus's table."""
    rng = random.Random(case.seed)
    found = []
    for word in case.words:
        for index in range(word.count or 1):
            for one in word.fields:
                access, flags = BUS[one.kind]
                for element in range(one.count or 1):
                    name = "_".join(
                        [
                            word.name,
                            *([str(index)] if word.count else []),
                            one.name,
                            *([str(element)] if one.count else []),
                        ]
                    )
                    found.append(Row(
                        name, case.base + word.offset + 4 * index, one.bit + element * one.bits, one.bits,
                        access, flags, rng.getrandbits(one.bits),
                    ))  # fmt: skip
    return found


def svd(case: Drawn) -> str:
    effects, registers = [], []
    for word in case.words:
        fields = []
        for one in word.fields:
            array = f"<dim>{one.count}</dim><dimIncrement>{one.bits}</dimIncrement>" if one.count else ""
            extra = "<modifiedWriteValues>oneToClear</modifiedWriteValues>" if one.kind == "clear" else ""
            extra += {"rc": "<readAction>clear</readAction>", "fifo": "<readAction>modify</readAction>"}.get(
                one.kind, ""
            )
            fields.append(
                f"<field>{array}<name>{one.name}{'%s' * bool(one.count)}</name><bitOffset>{one.bit}</bitOffset>"
                f"<bitWidth>{one.bits}</bitWidth><access>{ACCESS.get(one.kind, 'read-write')}</access>{extra}</field>"
            )
            if one.kind in ("trigger", "fifo"):
                effects.append(f'<wse field="{word.name}.{one.name}"/>')
        array = f"<dim>{word.count}</dim><dimIncrement>4</dimIncrement>" if word.count else ""
        reset = "<resetValue>0</resetValue>" if word.reset else ""
        registers.append(
            f"<register>{array}<name>{word.name}{'[%s]' * bool(word.count)}</name>"
            f"<addressOffset>{word.offset}</addressOffset>{reset}<fields>{''.join(fields)}</fields></register>"
        )
    return (
        f'<device schemaVersion="1.3"><name>{case.device}</name><version>1</version><description>d</description>'
        f"<addressUnitBits>8</addressUnitBits><width>32</width><size>32</size><peripherals><peripheral>"
        f"<name>{case.device}</name><headerStructName>Type{case.seed}</headerStructName>"
        f"<baseAddress>{case.base:#x}</baseAddress><registers>{''.join(registers)}</registers></peripheral></peripherals>"
        f'<vendorExtensions><sideEffects peripheral="{case.device}">{"".join(effects)}</sideEffects></vendorExtensions>'
        "</device>"
    )


# --- drivers


class _Writer:
    """Write the same functions in both forms."""

    def __init__(self, case: Drawn, rng: random.Random) -> None:
        self.case, self.rng = case, rng
        self.indent = 1
        self.loops: list[str] = []
        self.depth = 0
        self.reach: set[tuple[str, str]] = set()

    def write(self) -> None:
        case = self.case
        if self.rng.random() < 0.3:
            case.has_interrupt = True
            targets = [(w, f) for w in case.words for f in w.fields if f.kind == "rw" and not f.count and not w.count]
            self.reach = {(w.name, f.name) for w, f in targets[:1]}
            self._open("interrupt_handler void", "void", f"isr{case.seed}", "void")
            for word, one in targets[:1]:
                self._line(*self._assign(word, one, ("3u", "3u")))
            self._close()
        for index in range(self.rng.randint(1, 3)):
            name = f"f{case.seed}_{index}"
            case.functions.append(name)
            self._open("uint32_t", "uint32_t", name, "uint32_t a, uint32_t b")
            self._line("uint32_t x = a;", "uint32_t x = a;")
            self._block(self.rng.randint(3, 8))
            self._line("return x ^ b;", "return x ^ b;")
            self._close()

    def _open(self, described: str, plain: str, name: str, parameters: str) -> None:
        self.case.text.append(f"{described} {name}({parameters}) {{")
        self.case.plain.append(f"{plain} plain_{name}({parameters}) {{")

    def _close(self) -> None:
        self.case.text.append("}")
        self.case.plain.append("}")

    def _line(self, described: str, plain: str) -> None:
        self.case.text.append("  " * self.indent + described)
        self.case.plain.append("  " * self.indent + plain)

    def _block(self, count: int) -> None:
        for _ in range(count):
            self._statement()

    def _statement(self) -> None:
        kinds = [self._write] * 10 + [self._compound] * 2 + [self._local] * 5 + [self._call, self._nested_write]
        if self.depth < 3:
            kinds += [self._if, self._if, self._for, self._while, self._switch, self._bare_if, self._scope]
        if self.depth:
            kinds.append(self._leave)
        self.rng.choice(kinds)()

    # --- expressions: described and plain

    def _reference(self, word: Word, one: Bits) -> tuple[str, str, str]:
        """Return the expression, and the indices of register and field for the plain form."""
        at = self._index(word.count) if word.count else ""
        element = self._index(one.count) if one.count else ""
        described = f"{self.case.device}->{word.name}" + (f"[{at}]" if at else "") + f".{one.name}"
        return described + (f"[{element}]" if element else ""), at or "0", element or "0"

    def _index(self, count: int) -> str:
        if self.rng.random() < 0.5:
            return str(self.rng.randrange(count))
        name = self.rng.choice([*self.loops, "a", "b", "x"])
        return f"{name} % {count}u"

    def _read(self, kinds: tuple[str, ...]) -> tuple[str, str]:
        found = [(w, f) for w in self.case.words for f in w.fields if f.kind in kinds]
        if not found:
            return "7u", "7u"
        word, one = self.rng.choice(found)
        described, at, element = self._reference(word, one)
        address = f"{self.case.base + word.offset:#x}u + 4u * ({at})"
        return described, f"plain_get({address}, {one.bit}u + {one.bits}u * ({element}), {one.bits}u)"

    def _any(self, *, special: bool) -> tuple[str, str]:
        """Draw an operand; only one of two may be a read with side effects."""
        kinds = ("rw", "ro", "trigger")
        lot = self.rng.random()
        if special and lot < 0.25:
            return self._read(("volatile", "rc", "fifo", "clear"))
        if lot < 0.65:
            return self._read(kinds)
        text = self.rng.choice([*self.loops, "a", "b", "x", "1u", "0u", "5u", "0xFFFFFFFFu"])
        return text, text

    def _value(self, *, special: bool = True) -> tuple[str, str]:
        left = self._any(special=special)
        if self.rng.random() < 0.5:
            return left
        right, sign = self._any(special=False), self.rng.choice("+-^&|")
        return f"{left[0]} {sign} {right[0]}", f"{left[1]} {sign} {right[1]}"

    def _condition(self) -> tuple[str, str]:
        left, right = self._value(), self._value()
        sign = self.rng.choice(("&&", "||"))
        if self.rng.random() < 0.5:
            return left
        return f"({left[0]}) {sign} ({right[0]})", f"({left[1]}) {sign} ({right[1]})"

    # --- statements

    def _target(self) -> tuple[Word, Bits]:
        kinds = ("rw",) * 6 + ("trigger", "clear", "wo", "fifo")
        kind = self.rng.choice(kinds)
        found = [(w, f) for w in self.case.words for f in w.fields if f.kind == kind]
        found = found or [(w, f) for w in self.case.words for f in w.fields if f.kind in kinds]
        return self.rng.choice(found) if found else (self.case.words[0], Bits("", "", 0, 0))

    def _set(self, word: Word, one: Bits, at: str, element: str, value: str) -> str:
        """Write a field as a plain HAL does: read the register first, unless no other field in it must be preserved."""
        others = [f for f in word.others(one) if f.kind in ("rw", "trigger", "fifo")]
        reads = bool(others) or one.count > 0 or not (word.reset or one.bits == 32)
        keep = sum(((1 << f.bits * (f.count or 1)) - 1) << f.bit for f in word.fields if f.kind not in ("clear", "wo"))
        unnamed = ~sum(((1 << f.bits * (f.count or 1)) - 1) << f.bit for f in word.fields) & 0xFFFFFFFF
        address = f"{self.case.base + word.offset:#x}u + 4u * ({at})"
        place = f"{one.bit}u + {one.bits}u * ({element}), {one.bits}u"
        return f"plain_set({address}, {place}, {int(reads)}, {keep | unnamed:#x}u, {value})"

    def _assign(self, word: Word, one: Bits, value: tuple[str, str]) -> tuple[str, str]:
        described, at, element = self._reference(word, one)
        return f"{described} = {value[0]};", self._set(word, one, at, element, value[1]) + ";"

    def _write(self) -> None:
        word, one = self._target()
        if one.name:
            self._line(*self._assign(word, one, self._value()))

    def _readable(self) -> tuple[Word, Bits] | None:
        found = [(w, f) for w in self.case.words for f in w.fields if f.kind in ("rw", "trigger")]
        return self.rng.choice(found) if found else None

    def _compound(self) -> None:
        if (target := self._readable()) is None:
            return
        word, one = target
        described, at, element = self._reference(word, one)
        address = f"{self.case.base + word.offset:#x}u + 4u * ({at})"
        old = f"plain_get({address}, {one.bit}u + {one.bits}u * ({element}), {one.bits}u)"
        if self.rng.random() < 0.3:
            self._line(f"{described}++;", self._set(word, one, at, element, f"{old} + 1u") + ";")
            return
        value, sign = self._value(special=False), self.rng.choice("+-^&|")
        self._line(
            f"{described} {sign}= {value[0]};", self._set(word, one, at, element, f"{old} {sign} ({value[1]})") + ";"
        )

    def _nested_write(self) -> None:
        word, one = self._target()
        if one.name and one.kind != "fifo":
            described, at, element = self._reference(word, one)
            value = self._value(special=False)
            self._line(
                f"x = x + ({described} = {value[0]});", f"x = x + {self._set(word, one, at, element, value[1])};"
            )

    def _local(self) -> None:
        value = self._value()
        sign = self.rng.choice(("=", "+=", "^="))
        self._line(f"x {sign} {value[0]};", f"x {sign} {value[1]};")

    def _call(self) -> None:
        self._line("outside(x);", "outside(x);")

    def _if(self) -> None:
        condition = self._condition()
        self._line(f"if ({condition[0]}) {{", f"if ({condition[1]}) {{")
        self._inside()
        if self.rng.random() < 0.4:
            self._line("} else {", "} else {")
            self._inside()
        self._line("}", "}")

    def _bare_if(self) -> None:
        condition = self._condition()
        word, one = self._target()
        if one.name:
            write = self._assign(word, one, self._value())
            self._line(f"if ({condition[0]}) {write[0]}", f"if ({condition[1]}) {write[1]}")

    def _scope(self) -> None:
        self._line("{", "{")
        self._inside(leave=False)
        self._line("}", "}")

    def _for(self) -> None:
        name = "ijk"[len(self.loops)] if len(self.loops) < 3 else ""
        if name:
            head = f"for (uint32_t {name} = 0; {name} < {self.rng.randint(1, 3)}u; ++{name}) {{"
            self._line(head, head)
            self.loops.append(name)
            self._inside()
            self.loops.pop()
            self._line("}", "}")

    def _while(self) -> None:
        name = f"n{len(self.case.text)}"
        condition = self._condition()
        self._line(f"uint32_t {name} = 3;", f"uint32_t {name} = 3;")
        self._line(f"while ({name}-- && ({condition[0]})) {{", f"while ({name}-- && ({condition[1]})) {{")
        self.loops.append("a")
        self._inside()
        self.loops.pop()
        self._line("}", "}")

    def _switch(self) -> None:
        value = self._value()
        self._line(f"switch (({value[0]}) & 3u) {{", f"switch (({value[1]}) & 3u) {{")
        for label in ("case 0:", "case 1:", "default:"):
            self._line(label, label)
            self._inside(leave=False)
            if self.rng.random() < 0.6:
                self._line("break;", "break;")
            else:
                self._line(";", ";")
        self._line("}", "}")

    def _inside(self, *, leave: bool = True) -> None:
        self.indent += 1
        self.depth += leave
        self.case.text.append("")
        self.case.plain.append("")
        if not leave:
            for _ in range(self.rng.randint(1, 3)):
                self.rng.choice((self._write, self._local, self._write))()
        else:
            self._block(self.rng.randint(1, 4))
        self.depth -= leave
        self.indent -= 1

    def _leave(self) -> None:
        text = self.rng.choice(("break;", "continue;")) if self.loops and self.rng.random() < 0.7 else "return x;"
        self._line(f"if (x & 1u) {text}", f"if (x & 1u) {text}")


def calls(case: Drawn) -> Iterator[tuple[str, int, int]]:
    """Yield the program's calls: function and arguments."""
    rng = random.Random(case.seed + 1)
    for name in case.functions * 2:
        yield name, rng.getrandbits(3), rng.getrandbits(32)
