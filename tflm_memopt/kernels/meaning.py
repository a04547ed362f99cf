"""Interprets descriptions of kernels. The slow interpreter is the specification of all generated kernels.

The interpreter raises KernelError for an access outside a tensor, for a read of a register or element without a value,
for a second store of an output element, and for a value that does not fit its register.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import KernelError
from tflm_memopt.kernels.language import (
    Array,
    Compute,
    Extents,
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
    statements,
)

Arrays = Mapping[str, NDArray[np.generic]]
Number: TypeAlias = Any
"""Value of a register: an int, or a numpy.float32."""

MOST = (1 << 31) - 1
FAR = 1 << 16
"""Rounded numbers are clamped to the range [-FAR, FAR]. After a zero point is added, FAR and -FAR are outside the range
of int16.
"""


def wrap32(x: int) -> int:
    return ((x + (1 << 31)) & ((1 << 32) - 1)) - (1 << 31)


def high_mul(a: int, b: int) -> int:
    """Return the product of a and b, divided by 2^31, with halves rounded up. If b is negative, the product must be
    small enough for an int32.
    """
    return (a * b + (1 << 30)) >> 31


def away_from_zero(x: int, divisor: int) -> int:
    """Return x / divisor, with halves rounded away from zero."""
    half = divisor // 2
    return -((half - x) // divisor) if x < 0 else (x + half) // divisor


def round_shift(x: int, exponent: int) -> int:
    return away_from_zero(x, 1 << exponent)


def shift_right_rounded(x: int, exponent: int) -> int:
    return (x + ((1 << exponent) >> 1)) >> exponent


def rescale(x: int, multiplier: int, shift: int) -> int:
    return round_shift(high_mul(wrap32(x << max(shift, 0)), multiplier), max(-shift, 0))


def rescale_wide(x: int, multiplier: int, shift: int) -> int:
    """Return the result of rescale() for a 64-bit value. The function uses the upper 16 bits of the multiplier and
    rounds once.
    """
    reduced = (multiplier + (1 << 15)) >> 16 if multiplier < MOST - (1 << 16) + 1 else (1 << 15) - 1
    return shift_right_rounded(x * reduced, 15 - shift)


def clip(x: int, bits: int) -> int:
    return min(max(x, -(1 << bits - 1)), (1 << bits - 1) - 1)


def nearest(x: np.float32) -> int:
    """Return the integer nearest to x (halves away from zero), clamped to [-FAR, FAR], or 0 for NaN."""
    clamped = 0.0 if np.isnan(x) else min(max(float(x), -FAR), FAR)
    return int(math.copysign(math.floor(abs(clamped) + 0.5), clamped))


def whole(x: np.float32) -> int:
    """Return x without its fraction, saturated to int32, or 0 for NaN."""
    return 0 if np.isnan(x) else int(min(max(float(x), -MOST - 1), MOST))


def floor_modulo(x: np.float32, y: np.float32) -> Number:
    """Return the remainder of x / y with the sign of y. A remainder of zero has the sign of x."""
    rest = np.fmod(x, y)
    return rest + y if rest != 0 and (y < 0) != (rest < 0) else rest


OPS: Mapping[str, Callable[..., Number]] = {
    "copy": lambda a: a,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "max": lambda a, b: b if a < b else a,
    "min": lambda a, b: b if b < a else a,
    "and": operator.and_,
    "shift_left": operator.lshift,
    "shift_right": operator.rshift,
    "shift_right_rounded": shift_right_rounded,
    "clip16": lambda a, e: clip(shift_right_rounded(a, e), 16),
    "add16": lambda a, b: clip(a + b, 16),
    "clip8": lambda a: clip(a, 8),
    "high_mul": high_mul,
    "high_mul_signed": lambda a, b: min(high_mul(a, b), MOST),
    "shift_left_saturated": lambda a, e: clip(a << e, 32),
    "divide_rounded": away_from_zero,
    "zeros_above": lambda a: 0 if a < 0 else 32 - max(a, 1).bit_length(),
    "less": lambda a, b: int(a < b),
    "less_equal": lambda a, b: int(a <= b),
    "select": lambda which, a, b: a if which else b,
    "round_shift": round_shift,
    "rescale": rescale,
    "join": lambda low, high: (low & ((1 << 32) - 1)) + (high << 32),
    "rescale_wide": rescale_wide,
    "exp": np.exp,
    "elu": lambda x: np.expm1(x) if x < 0 else x,
    "tanh": np.tanh,
    "magnitude": np.abs,
    "negative": operator.neg,
    "as_float": lambda bits: np.int32(bits).view(np.float32),
    "divide": np.divide,
    "equal": lambda a, b: int(a == b),
    "floor_divide": lambda a, b: np.floor(np.float64(a) / b),
    "floor_modulo": floor_modulo,
    "root": np.sqrt,
    "log": np.log,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "whole": whole,
    "nearest": nearest,
    "dot": lambda total, a, b: total + a * b,
    "dot_wide": lambda total, a, b: total + a * b,
}
"""Functions that compute the results of operations. The interpreter keeps only the lower 32 bits of integer results.

For an operation listed in OWN, the first operand is the old value of the result register.
"""
OWN = ("dot", "dot_wide")
SHIFTS = ("shift_left", "shift_left_saturated", "shift_right", "shift_right_rounded", "round_shift")
LONGEST_SHIFT = 31


def position(one: Load | Store, values: Extents) -> int:
    """Return the index of the loaded or stored element, counted in elements from the start of the tensor."""
    return sum(at.at(values) * stride.at(values) for at, stride in zip(one.at, one.tensor.strides, strict=True))


@dataclass(slots=True)
class Machine:
    kernel: KernelProgram
    memory: dict[str, NDArray[Any]]
    valid: dict[str, NDArray[np.bool_]]
    registers: dict[str, Number] = field(default_factory=dict)

    def run(self, body: Sequence[Statement], values: dict[str, int]) -> None:
        for one in body:
            match one:
                case When():
                    at = one.at.at(values) if isinstance(one.at, Index) else int(self.value(one.at, values))
                    if 0 <= at < one.extent.at(values):
                        self.run(one.body, values)
                case For():
                    for turn in range(one.extent.at(values)):
                        self.run(one.body, values | {one.var: turn})
                case Load():
                    self.load(one, values)
                case Store():
                    self.store(one, values)
                case Compute():
                    self.compute(one, values)

    def load(self, one: Load, values: Extents) -> None:
        further = self.value(one.by, values) if one.by else 0
        at = self._inside(one.tensor, position(one, values) + further)
        if not self.valid[one.tensor.name][at]:
            raise KernelError(
                f"{self._said(one.tensor)} is read before it was stored", hint="store before the first load"
            )
        value = self.memory[one.tensor.name][at]
        self.registers[one.to.name] = value if one.tensor.type is Type.FLOAT32 else int(value)

    def store(self, one: Store, values: Extents) -> None:
        at = self._inside(one.tensor, position(one, values))
        if one.tensor.written and self.valid[one.tensor.name][at]:
            raise KernelError(
                f"{self._said(one.tensor)} is stored twice at element {at}",
                hint="store each output element once; keep sums in registers or in a workspace",
            )
        self.memory[one.tensor.name][at] = self.value(one.value, values)
        self.valid[one.tensor.name][at] = True

    def compute(self, one: Compute, values: Extents) -> None:
        operands = [self.value(operand, values) for operand in one.operands]
        if one.op in OWN:
            operands.insert(0, self.value(one.to, values))
        if one.op in SHIFTS and not 0 <= operands[-1] <= LONGEST_SHIFT:
            raise KernelError(f"{self.kernel.name}: {one.op} by {operands[-1]} bits", hint="shift by 0 to 31 bits")
        result = OPS[one.op](*operands)
        if one.to.type is Type.FLOAT32:
            result = np.float32(result)
        elif one.to.type is not Type.INT64:
            result = wrap32(result)
            if result != clip(result, one.to.type.bits):
                raise KernelError(
                    f"{self.kernel.name}: {one.op} gives {result}, beyond {one.to.name} ({one.to.type.c})",
                    hint="use a wider register, or clamp the value",
                )
        self.registers[one.to.name] = result

    def value(self, operand: Operand, values: Extents) -> Number:
        if isinstance(operand, Index):
            return operand.at(values)
        if operand.name not in self.registers:
            raise KernelError(
                f"{self.kernel.name}: register {operand.name} is read before it has a value",
                hint="load it or compute it first",
            )
        return self.registers[operand.name]

    def _inside(self, tensor: Array, at: int) -> int:
        if not 0 <= at < (size := len(self.memory[tensor.name])):
            raise KernelError(
                f"{self._said(tensor)} has {size} elements, but element {at} is accessed",
                hint="check its shape, its strides and the extents of the loops",
            )
        return at

    def _said(self, tensor: Array) -> str:
        return f"{self.kernel.name}: '{tensor.name}'"


def run(kernel: KernelProgram, values: Extents, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Run a kernel, and return the kernel's outputs and workspaces as flat arrays."""
    memory, valid = {}, {}
    for tensor in kernel.tensors:
        given = np.array(tensor.values) if tensor.values else arrays.get(tensor.name)
        empty, kind = np.zeros(tensor.reach.at(values)), np.float32 if tensor.type is Type.FLOAT32 else np.int64
        memory[tensor.name] = (empty if given is None else given.reshape(-1)).astype(kind)
        valid[tensor.name] = np.full(len(memory[tensor.name]), given is not None)
    Machine(kernel, memory, valid).run(kernel.body, dict(values))
    stored = {one.tensor.name for one in statements(kernel.body) if isinstance(one, Store)}
    for tensor in kernel.tensors:
        if tensor.written and not valid[tensor.name][_places(tensor, values)].all():
            raise KernelError(
                f"{kernel.name}: '{tensor.name}' is not stored everywhere", hint="loop over its whole shape"
            )
    return {name: memory[name] for name in memory if name in stored}


def _places(tensor: Array, values: Extents) -> NDArray[np.int64]:
    at = np.zeros(1, np.int64)
    for extent, stride in zip(tensor.shape, tensor.strides, strict=True):
        at = np.add.outer(at, stride.at(values) * np.arange(extent.at(values), dtype=np.int64)).reshape(-1)
    return at


def reads(one: Statement) -> tuple[Reg, ...]:
    match one:
        case Load():
            return (one.by,) if one.by else ()
        case Store():
            return (one.value,)
        case Compute():
            own = (one.to,) if one.op in OWN else ()
            return own + tuple(operand for operand in one.operands if isinstance(operand, Reg))
    return ()


def registers(one: Statement) -> tuple[Reg, ...]:
    return (*reads(one), one.to) if isinstance(one, (Load, Compute)) else reads(one)
