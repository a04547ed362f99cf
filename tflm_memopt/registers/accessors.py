"""Writes the support structs and the accessors (section 6.5): one function for each use of a register."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tflm_memopt.registers.description import WORD, Device
from tflm_memopt.registers.driver import AccessOp
from tflm_memopt.registers.layout import Layout, Placed, Register, Slot

BUS = """\
/* Loads and stores of registers. Define REG_READ32 etc. before including this file to log or simulate accesses. */
"""


@dataclass(frozen=True, slots=True)
class Accessor:
    """A function of the generated header, which reads or writes some fields of one register of a group."""

    op: AccessOp
    group: str
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        return "_".join(("HAL_READ" if self.op is AccessOp.READ else "HAL_WRITE", self.group, *self.names))


def bus_accesses(calls: Iterable[Accessor], layout: Layout) -> tuple[int, int]:
    """Return the numbers of loads and of stores of these calls (Table 6.1)."""
    loads = stores = 0
    for accessor in calls:
        register, slots = _where(accessor, layout)
        is_read = accessor.op is AccessOp.READ
        loads += is_read or register.kept(_written(slots)) != 0
        stores += not is_read
    return loads, stores


def _where(accessor: Accessor, layout: Layout) -> tuple[Register, list[Slot]]:
    found = [layout[accessor.group].slot(name) for name in accessor.names]
    return found[0][0], [slot for _, slot in found]


def _written(slots: Sequence[Slot]) -> int:
    """Return the mask of the bits whose place is fixed. An array within one register has no bits with a fixed place."""
    return sum(slot.mask for slot in slots if not slot.place.bit_step)


def header(guard: str, devices: Iterable[Device], layout: Layout, accessors: Iterable[Accessor]) -> str:
    """Return the text of the header that the driver includes."""
    wanted = sorted(set(accessors), key=lambda accessor: accessor.name)
    widths = sorted({_where(accessor, layout)[0].bits for accessor in wanted})
    parts = [
        f"/* Written by tflm-memopt registers: do not edit. */\n#ifndef {guard}\n#define {guard}\n",
        "#include <stdint.h>\n",
        BUS + "\n".join(_bus(bits) for bits in widths),
        *(_struct(layout, placed) for placed in layout.values()),
        *(_device(device) for device in devices),
        *(_function(accessor, layout) for accessor in wanted),
        f"#endif /* {guard} */\n",
    ]
    return "\n".join(parts)


def _bus(bits: int) -> str:
    return f"""\
#ifndef REG_READ{bits}
#define REG_READ{bits}(address) (*(volatile uint{bits}_t *)(address))
#define REG_WRITE{bits}(address, value) (*(volatile uint{bits}_t *)(address) = (value))
#endif
"""


def _struct(layout: Layout, placed: Placed) -> str:
    """Return a support struct, which contains only the nested groups at their offsets."""
    lines, at = [], 0
    for part, byte, step in sorted(placed.parts, key=lambda item: item[1]):
        if byte > at:
            lines.append(f"  uint8_t pad{at}[{byte - at}];")
        array = "" if part.count is None else f"[{part.count}]"
        lines.append(f"  struct {part.group} {part.name}{array};")
        at = byte + (step or layout[part.group].nbytes) * (part.count or 1)
    if placed.nbytes > at:
        lines.append(f"  uint8_t pad{at}[{placed.nbytes - at}];")
    body = "\n".join(lines)
    return f"struct {placed.name} {{ /* {placed.nbytes} bytes */\n{body}\n}};\n"


def _device(device: Device) -> str:
    base = f"{device.name}_BASE"
    return (
        f"#ifndef {base}\n#define {base} {device.base:#x}u\n#endif\n"
        f"static struct {device.group} *const {device.name} = (struct {device.group} *)(uintptr_t){base};\n"
    )


def value_type(bits: int) -> str:
    """Return the C type for arithmetic with a field, which is also used by the words of the language extension."""
    return "uint32_t" if bits <= WORD else "uint64_t"


def _function(accessor: Accessor, layout: Layout) -> str:
    register, slots = _where(accessor, layout)
    has_index = any(slot.field.count is not None for slot in slots)
    index = ", uint32_t index" if has_index else ""
    address = f"(uintptr_t)grp + {register.byte}u"
    if register.byte_step and slots[0].place.byte_step:
        address += f" + {register.byte_step}u * index"
    write = _reading if accessor.op is AccessOp.READ else _writing
    return write(accessor, register, slots, index, address)


def _shift(slot: Slot) -> str:
    if not slot.place.bit_step:
        return f"{slot.place.bit}u"
    step = "index" if slot.place.bit_step == 1 else f"{slot.place.bit_step}u * index"
    return f"({slot.place.bit}u + {step})" if slot.place.bit else f"({step})"


def _number(value: int, bits: int) -> str:
    return f"{value:#x}u" if bits <= 32 else f"{value:#x}ull"


def _extracted(slot: Slot, register: Register) -> str:
    shift, bits = _shift(slot), slot.field.field.bits
    value = "r" if shift == "0u" else f"(r >> {shift})"
    above = register.full & ~((1 << (slot.place.bit + bits)) - 1)
    if slot.place.bit_step or register.reads & above:
        value += f" & {_number((1 << bits) - 1, register.bits)}"
    return value.removeprefix("(").removesuffix(")") if value.startswith("(") and value.endswith(")") else value


def _reading(accessor: Accessor, register: Register, slots: Sequence[Slot], index: str, address: str) -> str:
    word = f"uint{register.bits}_t"
    load = f"  const {word} r = REG_READ{register.bits}({address});"
    if len(slots) == 1:
        kind = value_type(slots[0].field.field.bits)
        return (
            f"static inline {kind} {accessor.name}(struct {accessor.group} *grp{index}) {{\n{load}\n"
            f"  return {_extracted(slots[0], register)};\n}}\n"
        )
    results = "".join(f", {value_type(slot.field.field.bits)} *value{i}" for i, slot in enumerate(slots))
    stores = "\n".join(f"  *value{i} = {_extracted(slot, register)};" for i, slot in enumerate(slots))
    return (
        f"static inline void {accessor.name}(struct {accessor.group} *grp{index}{results}) {{\n{load}\n{stores}\n}}\n"
    )


def _placed_value(slot: Slot, register: Register, name: str) -> str:
    mask = _number((1 << slot.field.field.bits) - 1, register.bits)
    value = name if slot.field.field.bits == register.bits else f"({name} & {mask})"
    shift = _shift(slot)
    return value if shift == "0u" else f"({value} << {shift})"


def _writing(accessor: Accessor, register: Register, slots: Sequence[Slot], index: str, address: str) -> str:
    values = "".join(f", {value_type(slot.field.field.bits)} write_value{i}" for i, slot in enumerate(slots))
    new = " | ".join(_placed_value(slot, register, f"write_value{i}") for i, slot in enumerate(slots))
    keep = register.kept(_written(slots))
    _, ones = register.neutral
    if constant := ones & ~_written(slots) | (0 if keep else register.reserved):
        new += f" | {_number(constant, register.bits)}"
    if keep:
        kept = f"REG_READ{register.bits}({address}) & {_number(keep, register.bits)}"
        for slot in slots:
            if slot.place.bit_step:
                kept += f" & ~({_number(slot.mask >> slot.place.bit, register.bits)} << {_shift(slot)})"
        new = f"({kept}) | {new}"
    word = f"uint{register.bits}_t"
    single = len(slots) == 1
    kind = value_type(slots[0].field.field.bits) if single else "void"
    mask = _number((1 << slots[0].field.field.bits) - 1, slots[0].field.field.bits)
    back = f"  return write_value0 & {mask};\n" if single else ""
    return (
        f"static inline {kind} {accessor.name}(struct {accessor.group} *grp{index}{values}) {{\n"
        f"  const {word} r = ({word})({new});\n  REG_WRITE{register.bits}({address}, r);\n{back}}}\n"
    )
