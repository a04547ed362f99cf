"""Writes a kernel as C for any core, with a C variable for each register."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile

from tflm_memopt.kernels.instructions import InstructionTable
from tflm_memopt.kernels.language import (
    Array,
    Compute,
    For,
    Index,
    KernelProgram,
    Load,
    Operand,
    Reg,
    Statement,
    Store,
    Type,
    When,
)


def lines(kernel: KernelProgram, writer: "Writer") -> list[str]:
    writer.body(kernel.body)
    return joined(writer.lines)


def joined(lines: Sequence[str]) -> list[str]:
    """Join adjacent declarations of one type, as in `int32_t a = x[0], b = -a;`."""
    text: list[str] = []
    for begins, run in groupby(lines, lambda line: (found := DECLARATION.match(line)) and found[0]):
        if begins is None:
            text += run
            continue
        whole = [line.removeprefix(begins).replace(" ", "\0") for line in run]
        rows = textwrap.wrap(", ".join(whole).replace(";,", ","), WIDTH - len(begins), break_long_words=False)
        text += [row.replace("\0", " ") for row in (begins + rows[0], *(" " * len(begins) + row for row in rows[1:]))]
    return text


DECLARATION = re.compile(r" *(?:const )?u?(?:int\d+_t|float) (?=\w+ = .*;$)")
WIDTH = 140


def is_unaligned(tensor: Array) -> bool:
    return not tensor.aligned and tensor.type is not Type.INT8


def _place(tensor: Array, at: Sequence[Index]) -> tuple[str, Index]:
    if tensor.pointers:
        return f"{tensor.name}[{at[0]}]", replace(tensor, strides=tensor.strides[1:]).offset(at[1:])
    return tensor.name, tensor.offset(at)


def _signed(index: Index) -> str:
    """Return an index as a signed C expression. The cast makes the index signed, because loop variables are unsigned,
    and addresses may have 64 bits.
    """
    return f"(int32_t)({index})" if len(index.terms) > 1 or len(index.names) > 1 else f"{index}"


def element(tensor: Array, at: Sequence[Index], by: Reg | None = None) -> str:
    """Return the C expression that stands for an element of a tensor. If the element may be unaligned, the expression
    stands for the element's first byte.
    """
    base, index = _place(tensor, at)
    if is_unaligned(tensor):
        further = f"{index}" + (f" + {by.name}" if by else "")
        return f"{base}[(int32_t)({tensor.type.nbytes} * ({further}))]"
    further = _signed(index) + (f" + {by.name}" if by else "")
    return f"{base}[{further}]"


@dataclass
class Writer:
    table: InstructionTable
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    declared: set[str] = field(default_factory=set)
    pointers: int = 0
    bases: dict[str, tuple[str, Index]] = field(default_factory=dict)
    """Maps the C expression of an array's start to a shared pointer into the array: the pointer's name, and the index
    of the element to which the pointer points.
    """

    def say(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def body(self, body: Sequence[Statement]) -> None:
        new = True
        for at, one in enumerate(body):
            if new:
                self.point(list(takewhile(lambda s: not isinstance(s, (For, When)), body[at:])))
            new = isinstance(one, (For, When))
            if isinstance(one, For):
                self.loop(one)
            elif isinstance(one, When):
                self.when(one)
            elif isinstance(one, Load):
                self.load(one)
            elif isinstance(one, Compute):
                self.compute(one)
            elif isinstance(one, Store):
                self.store(one)

    def point(self, run: Sequence[Statement]) -> None:
        """Declare C pointers that several loads use, so that the compiler computes fewer addresses."""
        self.bases = {}
        places: dict[tuple[str, Type], list[Index]] = {}
        for one in run:
            if isinstance(one, Load) and one.by is None and not is_unaligned(one.tensor):
                base, index = _place(one.tensor, one.at)
                places.setdefault((base, one.tensor.type), []).append(index)
        for (base, kind), found in places.items():
            common = Index(tuple(term for term in found[0].terms if all(term in index.terms for index in found)))
            if len(set(found)) > 1 and common.terms:
                name = f"at{self.pointers}"
                self.bases[base], self.pointers = (name, common), self.pointers + 1
                self.say(f"const {kind.c} *const {name} = &{base}[{_signed(common)}];")

    def loop(self, one: For) -> None:
        self.block(f"for (uint32_t {one.var} = 0; {one.var} < {one.extent}; ++{one.var}) {{", one.body)

    def when(self, one: When) -> None:
        self.block(f"if ((uint32_t)({value_of(one.at)}) < {one.extent}) {{", one.body)

    def block(self, head: str, body: Sequence[Statement], first: str = "") -> None:
        self.say(head)
        self.depth += 1
        if first:
            self.say(first)
        declared, pointers = set(self.declared), self.pointers
        self.body(body)
        self.depth, self.declared, self.pointers = self.depth - 1, declared, pointers
        self.say("}")

    def load(self, one: Load) -> None:
        place = element(one.tensor, one.at, one.by)
        base, index = _place(one.tensor, one.at)
        if base in self.bases and one.by is None:
            place = f"{self.bases[base][0]}[{_signed(index - self.bases[base][1])}]"
        wide = f"tmo_{one.tensor.type.short}_at(&{place})"
        self._set(one.to, wide if is_unaligned(one.tensor) else place)

    def store(self, one: Store) -> None:
        place = element(one.tensor, one.at)
        wide = f"tmo_put_{one.tensor.type.short}(&{place}, {one.value.name});"
        narrow = f"{place} = ({one.tensor.type.c}){one.value.name};"
        self.say(wide if is_unaligned(one.tensor) else narrow)

    def compute(self, one: Compute) -> None:
        names = dict(zip("abc", map(value_of, one.operands), strict=False))
        self._set(one.to, self.table.instruction(one).text.format(d=one.to.name, **names))

    def _set(self, to: Reg, value: str) -> None:
        self.say(f"{'' if to.name in self.declared else f'{held(to.type).c} '}{to.name} = {value};")
        self.declared.add(to.name)


def held(kind: Type) -> Type:
    return kind if kind in (Type.INT64, Type.FLOAT32) else Type.INT32


def value_of(operand: Operand) -> str:
    if isinstance(operand, Reg):
        return operand.name
    return f"(int32_t)({operand})" if operand.names else str(operand)
