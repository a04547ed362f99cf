"""Lists the vector instructions of RISC-V, and operations that replace missing instructions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tflm_memopt.kernels.instructions import SCALAR, Instruction, InstructionTable
from tflm_memopt.kernels.language import Compute, Index, Operand, Reg, Type


@dataclass(frozen=True, slots=True)
class VectorUnit:
    registers: int
    group: int
    """Number of registers for a vector with the widest elements of a loop."""
    widest: Type = Type.INT32

    def size(self, kind: Type) -> int:
        return max(1, self.group * kind.nbytes // self.widest.nbytes)

    def setting(self, bits: int) -> str:
        eighths = self.group * bits // self.widest.nbytes
        return f"e{bits}, " + (f"m{eighths // 8}" if eighths >= 8 else f"mf{8 // eighths}")


@dataclass(frozen=True, slots=True)
class VectorTable(InstructionTable):
    lacks: Mapping[str, Callable[[Compute, str], Sequence[Compute]]]
    """Maps each operation without an instruction to a function that returns replacement statements."""
    unit: VectorUnit
    begins: str
    """First statement of each C function."""


def _vector(op: str, name: str, *, width: int = 32) -> tuple[Instruction, Instruction]:
    v = f"v{width}"
    return (
        Instruction(op, v, (v, v), f"{name}.vv {{d}}, {{a}}, {{b}}", width),
        Instruction(op, v, (v, "s"), f"{name}.vx {{d}}, {{a}}, {{b}}", width),
    )


RVV_INSTRUCTIONS = (
    Instruction("copy", "v16", ("v8",), "vsext.vf2 {d}, {a}", 16),
    Instruction("copy", "v32", ("v8",), "vsext.vf4 {d}, {a}", 32),
    Instruction("copy", "v32", ("v16",), "vsext.vf2 {d}, {a}", 32),
    Instruction("copy", "v16", ("v32",), "vnsra.wi {d}, {a}, 0", 16),
    Instruction("copy", "v8", ("v16",), "vnsra.wi {d}, {a}, 0", 8),
    Instruction("copy", "v32", ("s",), "vmv.v.x {d}, {a}", 32),
    *_vector("add", "vadd"),
    *_vector("sub", "vsub"),
    *_vector("sub", "vsub", width=16),
    Instruction("sub", "v32", ("s", "v32"), "vrsub.vx {d}, {b}, {a}", 32),
    *_vector("mul", "vmul"),
    *_vector("max", "vmax"),
    *_vector("min", "vmin"),
    *_vector("max", "vmax", width=8),
    *_vector("min", "vmin", width=8),
    Instruction("clip16", "v16", ("v32", "v16"), "vnclip.wv {d}, {a}, {b}", 16),
    *_vector("add16", "vsadd", width=16),
    Instruction("clip8", "v8", ("v16",), "vnclip.wi {d}, {a}, 0", 8),
    *_vector("and", "vand"),
    *_vector("shift_left", "vsll"),
    *_vector("shift_right", "vsra"),
    *_vector("shift_right_rounded", "vssra"),
    *_vector("high_mul", "vsmul"),
    Instruction("dot", "v32", ("v16", "v16"), "vwmacc.vv {d}, {a}, {b}", 16),
    Instruction("dot", "v32", ("s", "v16"), "vwmacc.vx {d}, {a}, {b}", 16),
)
"""Instructions of RISC-V "V" 1.0, sections 11 to 12, with halves rounded up (vxrm is 0)."""


def narrow_by_halves(one: Compute, prefix: str) -> Sequence[Compute]:
    (value,) = one.operands
    if not (isinstance(value, Reg) and value.along and value.type is Type.INT32 and one.to.type is Type.INT8):
        return [one]
    half = Reg(f"{prefix}half", Type.INT16, value.along)
    return [Compute("copy", half, (value,)), replace(one, operands=(half,))]


def rescale_by_parts(one: Compute, prefix: str) -> Sequence[Compute]:
    x, multiplier, shift = one.operands
    if not one.to.along:
        return [one]
    each = shift.along if isinstance(shift, Reg) else ""
    left, less, right = (Reg(f"{prefix}{name}", Type.INT32, each) for name in ("left", "less", "right"))
    raised, product = (Reg(f"{prefix}{name}", Type.INT32, one.to.along) for name in ("raised", "product"))
    return [
        Compute("max", left, (shift, Index.of(0))),
        Compute("shift_left", raised, (x, left)),
        Compute("high_mul", product, (raised, multiplier)),
        Compute("sub", less, (Index.of(0), shift)),
        Compute("max", right, (less, Index.of(0))),
        Compute("round_shift", one.to, (product, right)),
    ]


def round_away(one: Compute, prefix: str) -> Sequence[Compute]:
    """Return the operations that divide x by 2^e, and round halves away from zero. The core itself rounds halves up, so
    1 is first subtracted from each negative x if e is not 0.
    """
    x, exponent = one.operands
    if not one.to.along:
        return [one]
    each = exponent.along if isinstance(exponent, Reg) else ""
    sign, moved = (Reg(f"{prefix}{name}", Type.INT32, one.to.along) for name in ("sign", "moved"))
    any_shift, mask = (Reg(f"{prefix}{name}", Type.INT32, each) for name in ("any", "mask"))
    return [
        Compute("shift_right", sign, (x, Index.of(31))),
        Compute("min", any_shift, (exponent, Index.of(1))),
        Compute("sub", mask, (Index.of(0), any_shift)),
        Compute("and", sign, (sign, mask)),
        Compute("add", moved, (x, sign)),
        Compute("shift_right_rounded", one.to, (moved, exponent)),
    ]


def widen_first(one: Compute, prefix: str) -> Sequence[Compute]:
    """Widen the int8 operands of a dot product or of a 16-bit difference to int16."""
    before: list[Compute] = []
    operands: list[Operand] = []
    for k, value in enumerate(one.operands):
        if isinstance(value, Reg) and value.along and value.type is Type.INT8 and one.to.type is not Type.INT8:
            wide = Reg(f"{prefix}wide{k}", Type.INT16, value.along)
            before.append(Compute("copy", wide, (value,)))
            operands.append(wide)
        else:
            operands.append(value)
    return [*before, replace(one, operands=tuple(operands))]


RVV = VectorTable(
    "rvv",
    (*SCALAR, *RVV_INSTRUCTIONS),
    {
        "rescale": rescale_by_parts,
        "round_shift": round_away,
        "copy": narrow_by_halves,
        "dot": widen_first,
        "sub": widen_first,
    },
    VectorUnit(registers=32, group=8),
    begins='__asm__ volatile("csrwi vxrm, 0" : : : "memory"); /* vector instructions round halves up */',
)
"""Instructions of 32-bit RISC-V cores with Zve32x or more."""
