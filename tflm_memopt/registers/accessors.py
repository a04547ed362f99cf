"""Writes C structs and accessors for registers (section 6.5). An accessor is a C function that reads or writes a
register.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tflm_memopt.registers.description import WORD, Device, Field
from tflm_memopt.registers.driver import AccessOp
from tflm_memopt.registers.layout import Layout, Placed, Register

BUS = """\
/* Loads and stores of registers. Define REG_READ32 etc. before including this file to log or simulate accesses. */
"""


@dataclass(frozen=True, slots=True)
class Accessor:
    op: AccessOp
    group: str
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        return "_".join(("HAL_READ" if self.op is AccessOp.READ else "HAL_WRITE", self.group, *self.names))


def bus_accesses(calls: Iterable[Accessor], layout: Layout) -> tuple[int, int]:
    """Return how many loads and how many stores the accessor calls execute (Table 6.1)."""
    loads = stores = 0
    for accessor in calls:
        register, fields = _where(accessor, layout)
        is_read = accessor.op is AccessOp.READ
        loads += is_read or register.kept(_written(fields)) != 0
        stores += not is_read
    return loads, stores


def _where(accessor: Accessor, layout: Layout) -> tuple[Register, list[Field]]:
    found = [layout[accessor.group].find(name) for name in accessor.names]
    return found[0][0], [field for _, field in found]


def _written(fields: Sequence[Field]) -> int:
    return sum(field.mask for field in fields if not field.place.bit_step)


def header(guard: str, devices: Iterable[Device], layout: Layout, accessors: Iterable[Accessor]) -> str:
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
    lines, at = [], 0
    for part in sorted(placed.parts, key=lambda part: part.place.byte):
        if part.place.byte > at:
            lines.append(f"  uint8_t pad{at}[{part.place.byte - at}];")
        array = "" if part.count is None else f"[{part.count}]"
        lines.append(f"  struct {part.group} {part.name}{array};")
        at = part.place.byte + (part.place.byte_step or layout[part.group].nbytes) * (part.count or 1)
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
    return "uint32_t" if bits <= WORD else "uint64_t"


def _function(accessor: Accessor, layout: Layout) -> str:
    register, fields = _where(accessor, layout)
    has_index = any(field.count is not None for field in fields)
    index = ", uint32_t index" if has_index else ""
    address = f"(uintptr_t)grp + {register.byte}u"
    if register.byte_step and fields[0].place.byte_step:
        address += f" + {register.byte_step}u * index"
    write = _reading if accessor.op is AccessOp.READ else _writing
    return write(accessor, register, fields, index, address)


def _shift(field: Field) -> str:
    if not field.place.bit_step:
        return f"{field.place.bit}u"
    step = "index" if field.place.bit_step == 1 else f"{field.place.bit_step}u * index"
    return f"({field.place.bit}u + {step})" if field.place.bit else f"({step})"


def _number(value: int, bits: int) -> str:
    return f"{value:#x}u" if bits <= 32 else f"{value:#x}ull"


def _extracted(field: Field, register: Register) -> str:
    shift, bits = _shift(field), field.bits
    value = "r" if shift == "0u" else f"(r >> {shift})"
    above = register.full & ~((1 << (field.place.bit + bits)) - 1)
    if field.place.bit_step or register.reads & above:
        value += f" & {_number((1 << bits) - 1, register.bits)}"
    return value.removeprefix("(").removesuffix(")") if value.startswith("(") and value.endswith(")") else value


def _reading(accessor: Accessor, register: Register, fields: Sequence[Field], index: str, address: str) -> str:
    word = f"uint{register.bits}_t"
    load = f"  const {word} r = REG_READ{register.bits}({address});"
    if len(fields) == 1:
        kind = value_type(fields[0].bits)
        return (
            f"static inline {kind} {accessor.name}(struct {accessor.group} *grp{index}) {{\n{load}\n"
            f"  return {_extracted(fields[0], register)};\n}}\n"
        )
    results = "".join(f", {value_type(field.bits)} *value{i}" for i, field in enumerate(fields))
    stores = "\n".join(f"  *value{i} = {_extracted(field, register)};" for i, field in enumerate(fields))
    return (
        f"static inline void {accessor.name}(struct {accessor.group} *grp{index}{results}) {{\n{load}\n{stores}\n}}\n"
    )


def _placed_value(field: Field, register: Register, name: str) -> str:
    mask = _number((1 << field.bits) - 1, register.bits)
    value = name if field.bits == register.bits else f"({name} & {mask})"
    shift = _shift(field)
    return value if shift == "0u" else f"({value} << {shift})"


def _writing(accessor: Accessor, register: Register, fields: Sequence[Field], index: str, address: str) -> str:
    values = "".join(f", {value_type(field.bits)} write_value{i}" for i, field in enumerate(fields))
    new = " | ".join(_placed_value(field, register, f"write_value{i}") for i, field in enumerate(fields))
    keep = register.kept(_written(fields))
    _, ones = register.neutral
    if constant := ones & ~_written(fields) | (0 if keep else register.reserved):
        new += f" | {_number(constant, register.bits)}"
    if keep:
        kept = f"REG_READ{register.bits}({address}) & {_number(keep, register.bits)}"
        for field in fields:
            if field.place.bit_step:
                kept += f" & ~({_number(field.mask >> field.place.bit, register.bits)} << {_shift(field)})"
        new = f"({kept}) | {new}"
    word = f"uint{register.bits}_t"
    single = len(fields) == 1
    kind = value_type(fields[0].bits) if single else "void"
    mask = _number((1 << fields[0].bits) - 1, fields[0].bits)
    back = f"  return write_value0 & {mask};\n" if single else ""
    return (
        f"static inline {kind} {accessor.name}(struct {accessor.group} *grp{index}{values}) {{\n"
        f"  const {word} r = ({word})({new});\n  REG_WRITE{register.bits}({address}, r);\n{back}}}\n"
    )
