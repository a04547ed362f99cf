"""Lists the operations of kernels in C for any core.

An entry has an operation, which meaning.py defines, and C code that computes the operation.
"""

from dataclasses import dataclass

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels.language import Compute, Operand, Reg, Type

Shape = tuple[str, ...]
"""Shapes of operands: "s" for an integer scalar, "f" for a float32 scalar, and "v8", "v16" or "v32" for vectors."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction, whose C code is the attribute `text`. In the code, `{d}` stands for the result, and `{a}`, `{b}`
    and `{c}` stand for the operands.
    """

    op: str
    to: str
    takes: Shape
    text: str
    width: int = 0


@dataclass(frozen=True, slots=True)
class InstructionTable:
    name: str
    instructions: tuple[Instruction, ...]

    def instruction(self, one: Compute) -> Instruction:
        """Return the instruction that computes the operation. Raises KernelError if the core has no instruction for the
        operation.
        """
        key = one.op, shape_of(one.to), tuple(map(shape_of, one.operands))
        for row in self.instructions:
            if (row.op, row.to, row.takes) == key:
                return row
        raise KernelError(
            f"{self.name} has no instruction for {one.op}: {key[1]} of {', '.join(key[2])}",
            hint="add a row to its table, or an expansion into supported ops",
        )


def shape_of(operand: Operand) -> str:
    if not isinstance(operand, Reg):
        return "s"
    kind = "f" if operand.type is Type.FLOAT32 else "s"
    return f"v{operand.type.bits}" if operand.along else kind


def _scalar(op: str, text: str, operands: int = 2) -> Instruction:
    return Instruction(op, "s", ("s",) * operands, text)


_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "divide": "/"}
_FUNCTIONS = {
    "exp": "expf", "tanh": "tanhf", "magnitude": "fabsf", "root": "sqrtf", "log": "logf",
    "floor": "floorf", "ceil": "ceilf", "round": "tmo_round",
}  # fmt: skip
SCALAR = (
    _scalar("copy", "{a}", 1),
    _scalar("add", "(int32_t)((uint32_t){a} + (uint32_t){b})"),
    _scalar("sub", "(int32_t)((uint32_t){a} - (uint32_t){b})"),
    _scalar("mul", "(int32_t)((uint32_t){a} * (uint32_t){b})"),
    _scalar("max", "({a} > {b} ? {a} : {b})"),
    _scalar("min", "({a} < {b} ? {a} : {b})"),
    _scalar("clip16", "tmo_clip16({a}, {b})"),
    _scalar("add16", "tmo_clip16({a} + {b}, 0)"),
    _scalar("clip8", "tmo_clamp({a}, INT8_MIN, INT8_MAX)", 1),
    _scalar("shift_left", "(int32_t)((uint32_t){a} << {b})"),
    _scalar("shift_left_saturated", "tmo_shift_saturated({a}, (uint32_t){b})"),
    _scalar("shift_right", "({a} >> {b})"),
    _scalar("and", "({a} & {b})"),
    _scalar("less", "({a} < {b})"),
    _scalar("select", "({a} ? {b} : {c})", 3),
    _scalar("zeros_above", "tmo_zeros_above((uint32_t){a})", 1),
    _scalar("divide_rounded", "tmo_divide_rounded({a}, {b})"),
    _scalar("high_mul", "tmo_high_scale({a}, {b})"),
    _scalar("high_mul_signed", "tmo_high_mul({a}, {b})"),
    _scalar("rescale", "tmo_rescale({a}, {b}, {c})", 3),
    _scalar("round_shift", "tmo_round_shift({a}, (uint32_t){b})"),
    _scalar("dot", "(int32_t)((uint32_t){d} + (uint32_t){a} * (uint32_t){b})"),
    _scalar("dot_wide", "(int64_t)((uint64_t){d} + (uint64_t)({a} * {b}))"),
    _scalar("join", "(int64_t)((uint64_t)(uint32_t){a} | (uint64_t)(uint32_t){b} << 32)"),
    _scalar("rescale_wide", "tmo_rescale_wide({a}, {b}, {c})", 3),
    Instruction("copy", "f", ("s",), "(float){a}"),
    Instruction("copy", "f", ("f",), "{a}"),
    Instruction("as_float", "f", ("s",), "tmo_as_float({a})"),
    *(Instruction(op, "f", ("f", "f"), f"({{a}} {sign} {{b}})") for op, sign in _ARITHMETIC.items()),
    Instruction("max", "f", ("f", "f"), "({a} < {b} ? {b} : {a})"),
    Instruction("min", "f", ("f", "f"), "({b} < {a} ? {b} : {a})"),
    *(Instruction("equal", "s", (kind, kind), "({a} == {b})") for kind in "sf"),
    Instruction("less", "s", ("f", "f"), "({a} < {b})"),
    *(Instruction("less_equal", "s", (kind, kind), "({a} <= {b})") for kind in "sf"),
    Instruction("floor_divide", "f", ("f", "f"), "tmo_floor_divide({a}, {b})"),
    Instruction("floor_modulo", "f", ("f", "f"), "tmo_floor_modulo({a}, {b})"),
    Instruction("whole", "s", ("f",), "tmo_whole({a})"),
    Instruction("negative", "f", ("f",), "(-{a})"),
    Instruction("select", "f", ("s", "f", "f"), "({a} ? {b} : {c})"),
    Instruction("dot", "f", ("f", "f"), "{d} + {a} * {b}"),
    *(Instruction(op, "f", ("f",), f"{name}({{a}})") for op, name in _FUNCTIONS.items()),
    Instruction("elu", "f", ("f",), "({a} < 0 ? expm1f({a}) : {a})"),
    Instruction("nearest", "s", ("f",), "tmo_nearest({a})"),
)


REF = InstructionTable("ref", SCALAR)
