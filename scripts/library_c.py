"""Writes the library's kernels as C functions. Vector instructions are assembly with fixed registers, so no compiler
intrinsics are needed.
"""

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from schedules import expand, remaining_loop, scheduled
from vector_registers import assign
from vectors import VectorTable, VectorUnit

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels.instructions import Instruction, InstructionTable
from tflm_memopt.kernels.language import (
    Array,
    Compute,
    For,
    Index,
    KernelProgram,
    Load,
    Memory,
    Reg,
    Statement,
    Store,
    Type,
    When,
    statements,
)
from tflm_memopt.kernels.meaning import registers
from tflm_memopt.kernels.write_c import WIDTH, Writer, element, held, is_unaligned, joined, lines, value_of


def for_target(kernel: KernelProgram, table: InstructionTable) -> KernelProgram:
    lacks = table.lacks if isinstance(table, VectorTable) else {}
    return scheduled(kernel, [expand(op, into) for op, into in lacks.items()])


def _writer(table: InstructionTable) -> "ScheduledWriter":
    return VectorWriter(table) if isinstance(table, VectorTable) else ScheduledWriter(table)


def operands_struct(kernel: KernelProgram) -> str:
    """Return the C struct with a kernel's arguments: pointers, extents and parameters."""
    lines = [f"  {_pointer(kernel, t)}{t.name};" for t in kernel.tensors if not t.values]
    sizes = [f"  uint32_t {', '.join(kernel.extents)};"] if kernel.extents else []
    numbers = [f"  int32_t {', '.join(kernel.parameters)};"] if kernel.parameters else []
    body = "\n".join([*lines, *sizes, *numbers])
    about = f"This record has the arguments of a kernel that computes {kernel.about}."
    return f"/* {about} */\ntypedef struct {{\n{body}\n}} tmo_{kernel.name}_operands;\n"


def function(kernel: KernelProgram, table: InstructionTable, ending: str = "") -> str:
    """Return the C function tmo_NAMEENDING_TARGET()."""
    how = "; ".join(for_target(kernel, table).schedule)
    about = f"/* The loops were rewritten in these steps of docs/kernel-language.md: {how}. */\n" if how else ""
    head = f"void tmo_{kernel.name}{ending}_{table.name}(const tmo_{kernel.name}_operands *o)"
    return about + library_function(kernel, table, head, lambda name: f"o->{name}")


def library_function(
    kernel: KernelProgram, table: InstructionTable, head: str, given: Callable[[str], str], ends: str = ""
) -> str:
    """Return the definition of a C function.

    The texts `head` and `ends` are the declaration and the last statement of the function. The mapping `given` has the
    C expression of each extent, parameter or tensor.
    """
    kernel = for_target(kernel, table)
    body = "\n".join(lines(kernel, _writer(table)))
    named = {t.name: f"{_pointer(kernel, t)}const" for t in kernel.tensors if not t.values}
    named |= dict.fromkeys(kernel.extents, "const uint32_t") | dict.fromkeys(kernel.parameters, "const int32_t")
    begins = [table.begins] if isinstance(table, VectorTable) else []
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

    The innermost loop of the kernel must compute one element of `y` from `x`, or from `x` and `other`. All other loops
    of the kernel must have a single iteration.
    """
    kernel, writer = for_target(kernel, table), ScheduledWriter(table, depth=0)
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
    second = operands["y"].type.c if at_once == 1 else held(operands["x"].type).c
    head = f"{macro}({name}, {kind}, {second}, {begins},"
    line = f"{head} {each})"
    return f"{line if len(line) <= WIDTH else chr(10).join([head, textwrap.indent(each, '  ')]) + ')'}\n"


def _pointer(kernel: KernelProgram, tensor: Array) -> str:
    stored = any(isinstance(one, Store) and one.tensor == tensor for one in statements(kernel.body))
    const = "" if stored else "const "
    return f"{const}{(Type.INT8 if is_unaligned(tensor) else tensor.type).c} *{'const *' if tensor.pointers else ''}"


@dataclass
class ScheduledWriter(Writer):
    """Writes C for loops that schedules.py has rewritten."""

    width: int = 0
    """Width in bits of the vector unit's elements, or 0 if the width is unknown."""

    def loop(self, one: For) -> None:
        if one.vector:
            self.vector_loop(one)
        elif one.step > 1:
            self.stepped(one, one.step)
        else:
            self.width = kept = self.kept(one.body)
            super().loop(one)
            self.width = kept

    def kept(self, body: Sequence[Statement]) -> int:
        """Set the vector unit to the width of a loop's elements. Return the width, or 0 if the loop has elements of
        several widths.
        """
        return 0

    def vector_loop(self, one: For) -> None:
        """Write a vector loop for a core without vectors. The statements of the loop must be a load and a store, which
        copy adjacent elements.
        """
        match one.body:
            case (Load() as load, Store() as store) if load.to == store.value and _alike(load, store, one.var):
                call = "tmo_copy_bytes" if load.tensor.memory is Memory.FLASH else "memmove"
                to = element(store.tensor, [at.put(one.var, 0) for at in store.at])
                source = element(load.tensor, [at.put(one.var, 0) for at in load.at], load.by)
                self.say(f"{call}(&{to}, &{source}, {one.extent * load.tensor.type.nbytes});")
            case _:
                raise KernelError(
                    f"{self.table.name} has no vectors for the loop over '{one.var}'",
                    hint="use a loop that moves adjacent elements, or a core with vectors",
                )

    def stepped(self, one: For, step: int, *, begun: bool = False) -> None:
        kept, further = self.kept((*one.body, *one.rest)), remaining_loop(one)
        if not begun:
            self.say(f"uint32_t {one.var} = 0;")
        self.block(f"for (; {one.var} + {step} <= {one.extent}; {one.var} += {step}) {{", one.body)
        self.width = kept
        if further:
            self.stepped(further, further.step, begun=True)
        else:
            self.block(f"for (; {one.var} < {one.extent}; ++{one.var}) {{", one.rest)
        self.width = kept


@dataclass
class VectorWriter(ScheduledWriter):
    """Writes assembly for vector loops, and C for everything else."""

    table: VectorTable
    vectors: Mapping[str, int] = field(default_factory=dict)
    unit: VectorUnit | None = None

    def point(self, run: Sequence[Statement]) -> None:
        """Assembly needs no shared C pointers."""

    def vector_loop(self, one: For) -> None:
        vectors = (reg.type for s in statements(one.body) for reg in registers(s) if reg.along)
        widest = max(vectors, key=lambda kind: kind.nbytes)
        unit = self.table.unit
        self.unit = replace(unit, group=one.group or unit.group, widest=widest)
        self.vectors = assign(f"the loop over '{one.var}'", one.body, self.unit)
        var, extent, self.width = one.var, one.extent, widest.bits
        setting = f"vsetvli %0, %1, {self.unit.setting(widest.bits)}, ta, ma"
        first = f'__asm__ volatile("{setting}" : "=r"(lanes) : "r"({extent} - {var}));'
        self.block(f"for (uint32_t {var} = 0, lanes; {var} < {extent}; {var} += lanes) {{", one.body, first)
        self.width = 0

    def kept(self, body: Sequence[Statement]) -> int:
        widths = {self.table.instruction(s).width for s in statements(body) if isinstance(s, Compute)} - {0}
        if len(widths) == 1:
            self.set_width(*widths)
        return self.width if len(widths) == 1 else 0

    def when(self, one: When) -> None:
        width = self.width
        super().when(one)
        if self.width != width:
            self.width = 0

    def load(self, one: Load) -> None:
        if one.to.along:
            self._memory("l", one.to, one)
        else:
            super().load(one)

    def store(self, one: Store) -> None:
        if one.value.along:
            self._memory("s", one.value, one)
        else:
            super().store(one)

    def compute(self, one: Compute) -> None:
        row = self.table.instruction(one)
        if row.to in ("s", "f"):
            super().compute(one)
        else:
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
        pointer, clobbers = f"&{element(tensor, one.at, by)}", ' : "memory"' if what == "s" else ""
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
                inputs.append(f'"r"({value_of(operand)})')
        listed = f" : : {', '.join(inputs)}" if inputs else " :"
        self.say(f'__asm__ volatile("{row.text.format(**names)}"{listed});')


def _alike(load: Load, store: Store, var: str) -> bool:
    slopes = {one.tensor.offset(one.at).slope(var) for one in (load, store)}
    return load.tensor.type is store.tensor.type and slopes == {Index.of(1)}
