"""Interprets kernels with NumPy. The interpreter is slow and serves as the kernels' specification.

The interpreter raises KernelError for an access outside a tensor, a read of a freed element, a second store of an
output element, a read of an empty register, and a value that does not fit its register.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    Free,
    Index,
    KernelProgram,
    Load,
    Operand,
    Reg,
    Statement,
    Store,
    Type,
    When,
    goes_on,
    statements,
)

Arrays = Mapping[str, NDArray[np.generic]]
Values: TypeAlias = NDArray[Any]
"""Values of registers: 64-bit integers or float32."""
Ints: TypeAlias = NDArray[np.int64]
Moment: TypeAlias = tuple[Load | Compute | Store | Free, dict[str, int], int]
"""A statement, the value of each extent, parameter and loop variable, and the number of lanes that run at once."""

RegisterValue: TypeAlias = Callable[[Reg], int]


MOST = (1 << 31) - 1
FAR = 1 << 16
"""This number exceeds int16 even after any zero point is added."""


def wrap32(x: Ints) -> Ints:
    """Reduce numbers modulo 2^32 to int32."""
    return ((x + (1 << 31)) & ((1 << 32) - 1)) - (1 << 31)


def high_mul(a: Ints, b: Ints) -> Ints:
    """Return a * b / 2^31, rounded with halves up. `b` must be at least 0, or the product must fit an int32."""
    product: Ints = (a * b + (1 << 30)) >> 31
    return product


def round_shift(x: Ints, exponent: Ints) -> Ints:
    """Return x / 2^exponent, rounded with halves away from zero."""
    half = (np.int64(1) << exponent) >> 1
    rounded: Ints = np.where(x < 0, -((-x + half) >> exponent), (x + half) >> exponent)
    return rounded


def rescale(x: Ints, multiplier: Ints, shift: Ints) -> Ints:
    product = high_mul(wrap32(x << np.maximum(shift, 0)), multiplier)
    return round_shift(product, np.maximum(-shift, 0))


def rescale_wide(x: Ints, multiplier: Ints, shift: Ints) -> Ints:
    """Return rescale() for 64-bit values, with the upper 16 bits of the multiplier and one rounding."""
    reduced = np.where(multiplier < MOST - (1 << 16) + 1, (multiplier + (1 << 15)) >> 16, (1 << 15) - 1)
    return shift_right_rounded(x * reduced, 15 - shift)


def select(which: Values, a: Values, b: Values) -> Values:
    chosen: Values = np.where(which != 0, a, b)
    return chosen


def shift_right_rounded(x: Ints, exponent: Ints) -> Ints:
    """Return x / 2^exponent, rounded with halves up."""
    shifted: Ints = (x + ((np.int64(1) << exponent) >> 1)) >> exponent
    return shifted


def scale_right(x: Ints, multiplier: Ints, zero: Ints, right: Ints) -> Ints:
    """Scale x by multiplier / 2^(31 + right) with TFLM's two roundings for right shifts, and add `zero`."""
    return shift_right_rounded(wrap32(high_mul(x, multiplier) + (x >> 31)), right) + zero


def clip(x: Ints, bits: int) -> Ints:
    """Saturate to signed integers of `bits` bits."""
    return np.clip(x, -(1 << bits - 1), (1 << bits - 1) - 1)


def nearest(x: NDArray[np.float32]) -> Ints:
    """Return the nearest integer, clamped to [-FAR, FAR]. Halves are rounded away from zero, and NaN gives 0."""
    wide = np.clip(np.nan_to_num(x.astype(np.float64)), -FAR, FAR)
    return (np.sign(wide) * np.floor(np.abs(wide) + 0.5)).astype(np.int64)


def floor_modulo(x: NDArray[np.float32], y: NDArray[np.float32]) -> Values:
    """Return the remainder of x / y for a quotient rounded down, with y's sign. A remainder of zero has x's sign."""
    rest = np.fmod(x, y)
    return select((rest != 0) & ((y < 0) != (rest < 0)), rest + y, rest)


def whole(x: NDArray[np.float32]) -> Ints:
    """Return x without its fraction, saturated to int32, or 0 for NaN."""
    return clip(np.trunc(np.nan_to_num(x.astype(np.float64))), 32).astype(np.int64)


OPS: Mapping[str, Callable[..., Values]] = {
    "copy": lambda a: a,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": lambda a, b: select(a < b, b, a),
    "min": lambda a, b: select(b < a, b, a),
    "and": np.bitwise_and,
    "sign": lambda a: a >> 31,
    "shift_left": lambda a, e: a << e,
    "shift_right": lambda a, e: a >> e,
    "shift_right_rounded": shift_right_rounded,
    "clip16": lambda a, e: clip(shift_right_rounded(a, e), 16),
    "add16": lambda a, b: clip(a + b, 16),
    "clip8": lambda a: clip(a, 8),
    "high_mul": high_mul,
    "high_mul_signed": lambda a, b: np.minimum(high_mul(a, b), MOST),
    "shift_left_saturated": lambda a, e: np.clip(a << e, -MOST - 1, MOST),
    "divide_rounded": lambda a, b: np.where(a < 0, -((-a + b // 2) // b), (a + b // 2) // b),
    "zeros_above": lambda a: np.where(a < 0, 0, 31 - np.floor(np.log2(np.maximum(a, 1))).astype(np.int64)),
    "less": lambda a, b: (a < b).astype(np.int64),
    "less_equal": lambda a, b: (a <= b).astype(np.int64),
    "select": select,
    "round_shift": round_shift,
    "rescale": rescale,
    "scale_right": scale_right,
    "mul_add": lambda a, b, c: a * b + c,
    "high_add": lambda a, b, c: a + ((b * c + (np.int64(1) << 31)) >> 32),
    "join": lambda low, high: (low & ((1 << 32) - 1)) + (high << 32),
    "rescale_wide": rescale_wide,
    "exp": np.exp,
    "elu": lambda x: select(x < 0, np.expm1(x), x),
    "tanh": np.tanh,
    "magnitude": np.abs,
    "negative": np.negative,
    "as_float": lambda bits: bits.astype(np.int32).view(np.float32),
    "divide": np.divide,
    "equal": lambda a, b: (a == b).astype(np.int64),
    "floor_divide": lambda a, b: np.floor(a.astype(np.float64) / b),
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
"""Each function computes an operation's result, which the interpreter then cuts to 32 bits. Operations in OWN have the
old value of the result's register as their first operand.
"""
OWN = ("dot", "dot_wide")
SHIFTS = ("shift_left", "shift_left_saturated", "shift_right", "shift_right_rounded", "round_shift", "scale_right")
LONGEST_SHIFT = 31


def walk(kernel: KernelProgram, values: Extents, lanes: int = 1, held: RegisterValue | None = None) -> Iterator[Moment]:
    """Yield all statements except loops and conditions, in execution order.

    `lanes` is the number of lanes of the core. The function `held` returns a register's value, so that conditions can
    be tested. If `held` is None, conditions on registers count as true. A yielded dictionary is valid until the next
    statement.
    """
    yield from _walk(kernel.body, dict(values), 1, lanes, held)


def _walk(
    body: Sequence[Statement], values: dict[str, int], count: int, lanes: int, held: RegisterValue | None
) -> Iterator[Moment]:
    for one in body:
        if isinstance(one, When):
            at = one.at.at(values) if isinstance(one.at, Index) else held(one.at) if held else 0
            if 0 <= at < one.extent.at(values):
                yield from _walk(one.body, values, count, lanes, held)
            continue
        if not isinstance(one, For):
            yield one, values, count
            continue
        yield from _turns(one, 0, values, count, lanes, held)
        values.pop(one.var, None)


def _turns(
    one: For, begin: int, values: dict[str, int], count: int, lanes: int, held: RegisterValue | None
) -> Iterator[Moment]:
    extent = one.extent.at(values)
    step = lanes if one.vector else one.step
    whole = extent if one.vector else begin + (extent - begin) // step * step
    for first in range(begin, whole, step):
        values[one.var] = first
        together = min(step, extent - first)
        yield from _walk(one.body, values, together if one.vector else count, lanes, held)
    if further := goes_on(one):
        yield from _turns(further, whole, values, count, lanes, held)
        return
    for values[one.var] in range(whole, extent):
        yield from _walk(one.rest, values, count, lanes, held)


class Addresses:
    def __init__(self) -> None:
        self._known: dict[int, tuple[Index, Index | None]] = {}
        """Maps the id() of a load or store to the first accessed element, and to the distance between two lanes."""

    def of(self, one: Load | Store, values: Extents, count: int) -> Ints:
        """Return the number of the element that the statement accesses or, for a vector, one number per lane."""
        if id(one) not in self._known:
            along = one.to.along if isinstance(one, Load) else one.value.along
            first = one.tensor.offset(one.at)
            self._known[id(one)] = first, first.slope(along) if along else None
        first, apart = self._known[id(one)]
        if apart is None:
            return np.array([first.at(values)], np.int64)
        return first.at(values) + apart.at(values) * np.arange(count, dtype=np.int64)


@dataclass(slots=True)
class Machine:
    kernel: KernelProgram
    memory: dict[str, Values]
    valid: dict[str, NDArray[np.bool_]]
    """Masks of the elements that may be read: constants, inputs until they are freed, and stored elements."""
    registers: dict[str, Values]
    addresses: Addresses = field(default_factory=Addresses)

    def load(self, one: Load, values: Extents, count: int) -> None:
        further = self.value(one.by, values) if one.by else 0
        at = self._inside(one.tensor, self.addresses.of(one, values, count) + further)
        if not self.valid[one.tensor.name][at].all():
            raise KernelError(
                f"{self._said(one.tensor)} is read before it was stored or after it was freed",
                hint="free after the last load, and store before the first",
            )
        self.registers[one.to.name] = self.memory[one.tensor.name][at]

    def store(self, one: Store, values: Extents, count: int) -> None:
        at = self._inside(one.tensor, self.addresses.of(one, values, count))
        if one.tensor.written and (self.valid[one.tensor.name][at].any() or len(np.unique(at)) < len(at)):
            raise KernelError(
                f"{self._said(one.tensor)} is stored twice at element {int(at[0])}",
                hint="store each output element once; keep sums in registers or in a workspace",
            )
        self.memory[one.tensor.name][at] = self.value(one.value, values)
        self.valid[one.tensor.name][at] = True

    def free(self, one: Free, values: Extents, count: int) -> None:
        at = self._inside(one.tensor, np.array(one.elements(values, count), np.int64))
        self.valid[one.tensor.name][at] = False

    def compute(self, one: Compute, values: Extents) -> None:
        operands = [self.value(operand, values) for operand in one.operands]
        if one.op in OWN:
            operands.insert(0, self.value(one.to, values))
        if one.op in SHIFTS and not ((operands[-1] >= 0) & (operands[-1] <= LONGEST_SHIFT)).all():
            raise KernelError(
                f"{self.kernel.name}: {one.op} by {int(operands[-1].flat[0])} bits", hint="shift by 0 to 31 bits"
            )
        result = np.asarray(OPS[one.op](*operands))
        if one.to.type in (Type.INT64, Type.FLOAT32):
            self.registers[one.to.name] = result.astype(_held(one.to.type))
            return
        result = wrap32(result)
        limit = 1 << (one.to.type.bits - 1)
        if (result < -limit).any() or (result >= limit).any():
            raise KernelError(
                f"{self.kernel.name}: {one.op} gives {int(result.flat[0])}, beyond {one.to.name} ({one.to.type.c})",
                hint="use a wider register, or clamp the value",
            )
        self.registers[one.to.name] = result

    def value(self, operand: Operand, values: Extents) -> Values:
        if isinstance(operand, Index):
            return np.array([operand.at(values)], np.int64)
        if operand.name not in self.registers:
            raise KernelError(
                f"{self.kernel.name}: register {operand.name} is read before it has a value",
                hint="load it or compute it first",
            )
        return self.registers[operand.name]

    def _inside(self, tensor: Array, at: Ints) -> Ints:
        size = len(self.memory[tensor.name])
        if len(at) and (at.min() < 0 or at.max() >= size):
            raise KernelError(
                f"{self._said(tensor)} has {size} elements, but element {int(at[-1])} is accessed",
                hint="check its shape, its strides and the extents of the loops",
            )
        return at

    def _said(self, tensor: Array) -> str:
        return f"{self.kernel.name}: '{tensor.name}'"


def run(kernel: KernelProgram, values: Extents, arrays: Arrays, lanes: int = 4) -> dict[str, Values]:
    """Run a kernel and return its outputs and workspaces as flat arrays.

    `values` has the extents and parameters. `arrays` has the inputs and constants in the order of their strides. The
    number of lanes in vectorised loops does not affect the result. Raises KernelError.
    """
    memory, valid = {}, {}
    for tensor in kernel.tensors:
        given = np.array(tensor.values) if tensor.values else arrays.get(tensor.name)
        empty, kind = np.zeros(tensor.reach.at(values)), _held(tensor.type)
        memory[tensor.name] = (empty if given is None else given.reshape(-1)).astype(kind)
        valid[tensor.name] = np.full(len(memory[tensor.name]), given is not None)
    machine = Machine(kernel, memory, valid, {})
    for one, names, count in walk(kernel, values, lanes, lambda reg: int(machine.value(reg, values)[0])):
        if isinstance(one, Load):
            machine.load(one, names, count)
        elif isinstance(one, Store):
            machine.store(one, names, count)
        elif isinstance(one, Free):
            machine.free(one, names, count)
        else:
            machine.compute(one, names)
    stored = {one.tensor.name for one in statements(kernel.body) if isinstance(one, Store)}
    outputs = {name: memory[name] for name in memory if name in stored}
    for tensor in kernel.tensors:
        if tensor.written and not valid[tensor.name][_places(tensor, values)].all():
            raise KernelError(
                f"{kernel.name}: '{tensor.name}' is not stored everywhere", hint="loop over its whole shape"
            )
    return outputs


def _held(kind: Type) -> type[np.float32 | np.int64]:
    return np.float32 if kind is Type.FLOAT32 else np.int64


def _places(tensor: Array, values: Extents) -> Ints:
    at = np.zeros(1, np.int64)
    for extent, stride in zip(tensor.shape, tensor.strides, strict=True):
        at = np.add.outer(at, stride.at(values) * np.arange(extent.at(values), dtype=np.int64)).reshape(-1)
    return at


def reads(one: Statement) -> tuple[Reg, ...]:
    """Return the registers whose values a load, a store or an operation uses."""
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
    """Return all registers of a load, a store or an operation."""
    return (*reads(one), one.to) if isinstance(one, (Load, Compute)) else reads(one)
