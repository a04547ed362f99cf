"""Writes a kernel as a C function for a core's instruction table.

Scalars of a kernel become C variables. Vector instructions are assembly with fixed registers, so no compiler intrinsics
are needed.
"""

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, takewhile

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels.instructions import Instruction, InstructionTable, VectorUnit
from tflm_memopt.kernels.language import (
    Array,
    Compute,
    For,
    Index,
    KernelProgram,
    Load,
    Memory,
    Operand,
    Reg,
    Statement,
    Store,
    Type,
    When,
    remaining_loop,
    statements,
)
from tflm_memopt.kernels.meaning import registers
from tflm_memopt.kernels.registers import assign
from tflm_memopt.kernels.rewrites import expand, scheduled


def for_target(kernel: KernelProgram, table: InstructionTable) -> KernelProgram:
    return scheduled(kernel, [expand(op, into) for op, into in table.lacks.items()])


def operands_struct(kernel: KernelProgram) -> str:
    """Return the C struct with a kernel's arguments: pointers, extents and parameters. All cores share the struct."""
    lines = [f"  {_pointer(kernel, t)}{t.name};" for t in kernel.tensors if not t.values]
    sizes = [f"  uint32_t {', '.join(kernel.extents)};"] if kernel.extents else []
    numbers = [f"  int32_t {', '.join(kernel.parameters)};"] if kernel.parameters else []
    body = "\n".join([*lines, *sizes, *numbers])
    about = f"This record has the arguments of a kernel that computes {kernel.about}."
    return f"/* {about} */\ntypedef struct {{\n{body}\n}} tmo_{kernel.name}_operands;\n"


def lines(kernel: KernelProgram, table: InstructionTable) -> list[str]:
    writer = Writer(table)
    writer.body(for_target(kernel, table).body)
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


def function(kernel: KernelProgram, table: InstructionTable, ending: str = "") -> str:
    """Return the C function tmo_NAMEENDING_TARGET(). Raises KernelError for unsupported statements."""
    how = "; ".join(for_target(kernel, table).schedule)
    about = f"/* The loops were rewritten in these steps of docs/kernel-language.md: {how}. */\n" if how else ""
    head = f"void tmo_{kernel.name}{ending}_{table.name}(const tmo_{kernel.name}_operands *o)"
    return about + library_function(kernel, table, head, lambda name: f"o->{name}")


def library_function(
    kernel: KernelProgram, table: InstructionTable, head: str, given: Callable[[str], str], ends: str = ""
) -> str:
    """Return the definition of a C function.

    The text `head` is the declaration of the function. The text `ends` is the last statement of the function. The
    mapping `given` has the C expression of each extent, parameter or tensor.
    """
    kernel = for_target(kernel, table)
    body = "\n".join(lines(kernel, table))
    named = {t.name: f"{_pointer(kernel, t)}const" for t in kernel.tensors if not t.values}
    named |= dict.fromkeys(kernel.extents, "const uint32_t") | dict.fromkeys(kernel.parameters, "const int32_t")
    begins = [table.begins] if table.begins else []
    for own in (t for t in kernel.tensors if t.values):
        values = f"static const {own.type.c} {own.name}[] = {{{', '.join(map(str, own.values))}}};"
        begins += textwrap.wrap(values, WIDTH, subsequent_indent="  ")
    used = {name: kind for name, kind in named.items() if re.search(rf"\b{name}\b", body) and given(name) != name}
    begins += [f"{kind} {name} = {given(name)};" for name, kind in used.items()]
    whole = "\n".join([*joined([f"  {line}" for line in begins]), body, *([f"  {ends}"] if ends else [])])
    return f"{head} {{\n{whole}\n}}\n"


def element_function(
    kernel: KernelProgram, table: InstructionTable, name: str, given: Callable[[str], str], at_once: int
) -> str:
    """Return C code that defines a function with a macro of tmo/elements.h.

    The innermost loop of the kernel must compute one element of `y` from `x`, or from `x` and `other`. Loops around the
    innermost loop must have one iteration.
    """
    kernel, writer = for_target(kernel, table), Writer(table, depth=0)
    loop = [one for one in statements(kernel.body) if isinstance(one, For)][-1]
    operands = {t.name: t for t in kernel.tensors}
    kind, both = operands["x"].type.c, False
    writer.body([one for one in kernel.body if isinstance(one, Compute)])
    for one in loop.body:
        if isinstance(one, Load) and one.tensor.name == "other":
            both = bool(one.tensor.offset(one.at).slope(loop.var).terms)
            writer.lines += [] if both else [f"const {kind} other = *(const {kind} *)b;"]
    begins = re.sub(r"\(int32_t\)\((low|high)\)", lambda found: given(found[1]), " ".join(writer.lines))
    writer.lines = []
    writer.body([one for one in loop.body if isinstance(one, Compute)])
    each = "\n".join(joined(writer.lines))
    for one in loop.body:
        if isinstance(one, (Load, Store)):
            each = re.sub(rf"\b{(one.value if isinstance(one, Store) else one.to).name}\b", one.tensor.name, each)
    macro = f"TMO_{'COMBINE' if both else 'MAP'}_{'EACH' if at_once == 1 else 'FOUR'}"
    second = operands["y"].type.c if at_once == 1 else _held(operands["x"].type).c
    head = f"{macro}({name}, {kind}, {second}, {begins},"
    line = f"{head} {each})"
    return f"{line if len(line) <= WIDTH else chr(10).join([head, textwrap.indent(each, '  ')]) + ')'}\n"


def _pointer(kernel: KernelProgram, tensor: Array) -> str:
    stored = any(isinstance(one, Store) and one.tensor == tensor for one in statements(kernel.body))
    const = "" if stored else "const "
    return f"{const}{(Type.INT8 if _anywhere(tensor) else tensor.type).c} *{'const *' if tensor.pointers else ''}"


def _anywhere(tensor: Array) -> bool:
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


def _element(tensor: Array, at: Sequence[Index], by: Reg | None = None) -> str:
    """Return the C expression that stands for an element of a tensor. If the element may be unaligned, the expression
    stands for the element's first byte.
    """
    base, index = _place(tensor, at)
    if _anywhere(tensor):
        further = f"{index}" + (f" + {by.name}" if by else "")
        return f"{base}[(int32_t)({tensor.type.nbytes} * ({further}))]"
    further = _signed(index) + (f" + {by.name}" if by else "")
    return f"{base}[{further}]"


@dataclass(slots=True)
class Writer:
    table: InstructionTable
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    declared: set[str] = field(default_factory=set)
    vectors: Mapping[str, int] = field(default_factory=dict)
    unit: VectorUnit | None = None
    width: int = 0
    pointers: int = 0
    bases: dict[str, tuple[str, Index]] = field(default_factory=dict)
    """Maps the C expression of an array's start to the name of a shared pointer, and to the pointer's index in the
    array.
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
        if self.table.vectors:
            return
        places: dict[tuple[str, Type], list[Index]] = {}
        for one in run:
            if isinstance(one, Load) and one.by is None and not _anywhere(one.tensor):
                base, index = _place(one.tensor, one.at)
                places.setdefault((base, one.tensor.type), []).append(index)
        for (base, kind), found in places.items():
            common = Index(tuple(term for term in found[0].terms if all(term in index.terms for index in found)))
            if len(set(found)) > 1 and common.terms:
                name = f"at{self.pointers}"
                self.bases[base], self.pointers = (name, common), self.pointers + 1
                self.say(f"const {kind.c} *const {name} = &{base}[{_signed(common)}];")

    def loop(self, one: For) -> None:
        if one.vector and self.table.vectors:
            self.vector_loop(one, self.table.vectors)
            return
        if one.vector:
            self.moved(one)
            return
        if one.step > 1:
            self.stepped(one, one.step)
            return
        self.width = kept = self._kept(one.body)
        self._block(f"for (uint32_t {one.var} = 0; {one.var} < {one.extent}; ++{one.var}) {{", one.body)
        self.width = kept

    def moved(self, one: For) -> None:
        """Write a vector loop for a core without vectors. The statements of the loop must be a load and a store, which
        copy adjacent elements.
        """
        match one.body:
            case (Load() as load, Store() as store) if load.to == store.value and _alike(load, store, one.var):
                call = "tmo_copy_bytes" if load.tensor.memory is Memory.FLASH else "memmove"
                to = _element(store.tensor, [at.put(one.var, 0) for at in store.at])
                source = _element(load.tensor, [at.put(one.var, 0) for at in load.at], load.by)
                self.say(f"{call}(&{to}, &{source}, {one.extent * load.tensor.type.nbytes});")
            case _:
                raise KernelError(
                    f"{self.table.name} has no vectors for the loop over '{one.var}'",
                    hint="use a loop that moves adjacent elements, or a core with vectors",
                )

    def _kept(self, body: Sequence[Statement]) -> int:
        """Set the width in bits of the vector unit's elements for a loop. Return the width, or 0 if the loop has
        elements of several widths.
        """
        computed = [s for s in statements(body) if isinstance(s, Compute)] if self.table.vectors else []
        widths = {self.table.instruction(s).width for s in computed} - {0}
        if len(widths) == 1:
            self.set_width(*widths)
        return self.width if len(widths) == 1 else 0

    def when(self, one: When) -> None:
        width = self.width
        self._block(f"if ((uint32_t)({_value(one.at)}) < {one.extent}) {{", one.body)
        if self.width != width:
            self.width = 0

    def vector_loop(self, one: For, unit: VectorUnit) -> None:
        vectors = (reg.type for s in statements(one.body) for reg in registers(s) if reg.along)
        widest = max(vectors, key=lambda kind: kind.nbytes)
        self.unit = replace(unit, group=one.group or unit.group, widest=widest)
        self.vectors = assign(f"the loop over '{one.var}'", one.body, self.unit)
        var, extent, self.width = one.var, one.extent, widest.bits
        setting = f"vsetvli %0, %1, {self.unit.setting(widest.bits)}, ta, ma"
        first = f'__asm__ volatile("{setting}" : "=r"(lanes) : "r"({extent} - {var}));'
        self._block(f"for (uint32_t {var} = 0, lanes; {var} < {extent}; {var} += lanes) {{", one.body, first)
        self.width = 0

    def stepped(self, one: For, step: int, *, begun: bool = False) -> None:
        kept, further = self._kept((*one.body, *one.rest)), remaining_loop(one)
        if not begun:
            self.say(f"uint32_t {one.var} = 0;")
        self._block(f"for (; {one.var} + {step} <= {one.extent}; {one.var} += {step}) {{", one.body)
        self.width = kept
        if further:
            self.stepped(further, further.step, begun=True)
        else:
            self._block(f"for (; {one.var} < {one.extent}; ++{one.var}) {{", one.rest)
        self.width = kept

    def _block(self, head: str, body: Sequence[Statement], first: str = "") -> None:
        self.say(head)
        self.depth += 1
        if first:
            self.say(first)
        declared, pointers = set(self.declared), self.pointers
        self.body(body)
        self.depth, self.declared, self.pointers = self.depth - 1, declared, pointers
        self.say("}")

    def load(self, one: Load) -> None:
        if not one.to.along or not self.table.vectors:
            element = _element(one.tensor, one.at, one.by)
            base, index = _place(one.tensor, one.at)
            if base in self.bases and one.by is None:
                element = f"{self.bases[base][0]}[{_signed(index - self.bases[base][1])}]"
            wide = f"tmo_{one.tensor.type.short}_at(&{element})"
            self._set(one.to, wide if _anywhere(one.tensor) else element)
            return
        self._memory("l", one.to, one)

    def store(self, one: Store) -> None:
        if not one.value.along or not self.table.vectors:
            element = _element(one.tensor, one.at)
            wide = f"tmo_put_{one.tensor.type.short}(&{element}, {one.value.name});"
            narrow = f"{element} = ({one.tensor.type.c}){one.value.name};"
            self.say(wide if _anywhere(one.tensor) else narrow)
            return
        self._memory("s", one.value, one)

    def compute(self, one: Compute) -> None:
        row = self.table.instruction(one)
        if row.to in ("s", "f"):
            names = dict(zip("abc", map(_value, one.operands), strict=False))
            self._set(one.to, row.text.format(d=one.to.name, **names))
            return
        self.set_width(row.width)
        self._assembly(row, one)

    def set_width(self, bits: int) -> None:
        if self.unit and bits not in (0, self.width):
            self.say(f'__asm__ volatile("vsetvli zero, %0, {self.unit.setting(bits)}, ta, ma" : : "r"(lanes));')
            self.width = bits

    def _memory(self, what: str, reg: Reg, one: Load | Store) -> None:
        tensor, slope = one.tensor, one.tensor.offset(one.at).slope(reg.along)
        bits = tensor.type.bits
        by = one.by if isinstance(one, Load) else None
        pointer, clobbers = f"&{_element(tensor, one.at, by)}", ' : "memory"' if what == "s" else ""
        if slope == Index.of(1):
            self.say(
                f'__asm__ volatile("v{what}e{bits}.v v{self.vectors[reg.name]}, (%0)" : : "r"({pointer}){clobbers});'
            )
            return
        apart = slope * tensor.type.nbytes
        name = f"v{what}se{bits}.v v{self.vectors[reg.name]}, (%0), %1"
        self.say(f'__asm__ volatile("{name}" : : "r"({pointer}), "r"({apart}){clobbers});')

    def _assembly(self, row: Instruction, one: Compute) -> None:
        names: dict[str, str] = {"d": f"v{self.vectors[one.to.name]}"}
        inputs: list[str] = []
        for letter, operand in zip("abc", one.operands, strict=False):
            if isinstance(operand, Reg) and operand.along:
                names[letter] = f"v{self.vectors[operand.name]}"
            else:
                names[letter] = f"%{len(inputs)}"
                inputs.append(f'"r"({_value(operand)})')
        listed = f" : : {', '.join(inputs)}" if inputs else " :"
        self.say(f'__asm__ volatile("{row.text.format(**names)}"{listed});')

    def _set(self, to: Reg, value: str) -> None:
        self.say(f"{'' if to.name in self.declared else f'{_held(to.type).c} '}{to.name} = {value};")
        self.declared.add(to.name)


def _held(kind: Type) -> Type:
    return kind if kind in (Type.INT64, Type.FLOAT32) else Type.INT32


def _alike(load: Load, store: Store, var: str) -> bool:
    slopes = {one.tensor.offset(one.at).slope(var) for one in (load, store)}
    return load.tensor.type is store.tensor.type and slopes == {Index.of(1)}


def _value(operand: Operand) -> str:
    if isinstance(operand, Reg):
        return operand.name
    return f"(int32_t)({operand})" if operand.names else str(operand)
