"""Describes kernels in Python: a function that is called once with a Builder describes one kernel.

@kernel("y = x")
def copy(b: Builder) -> None:
    (n,) = b.extents("n")
    x, y = b.ram("x", Type.INT8, n), b.output("y", Type.INT8, n)
    with b.loop("i", n) as i:
        b.ram_store(y, b.ram_load(x, i), i)
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from tflm_memopt.errors import KernelError
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
    product,
    statements,
)

Number: TypeAlias = Operand | int
Span: TypeAlias = tuple[Number, Number]


@dataclass(slots=True)
class Builder:
    sizes: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    tensors: list[Array] = field(default_factory=list)
    open: list[list[Statement]] = field(default_factory=lambda: [[]])
    registers: int = 0

    def extents(self, *names: str) -> tuple[Index, ...]:
        """Declare sizes of tensors and loops that are known only when the kernel runs."""
        self.sizes += names
        return tuple(Index.name(name) for name in names)

    def parameters(self, *names: str) -> tuple[Index, ...]:
        """Declare parameters: 32-bit numbers, such as zero points, that are known only when the kernel runs."""
        self.numbers += names
        return tuple(Index.name(name) for name in names)

    def ram(self, name: str, kind: Type, *shape: Index | int, strides: tuple[Index, ...] = ()) -> Array:
        """Declare an input tensor in RAM with a stride for each axis. The last stride may be omitted if it is 1."""
        return self._tensor(Array(name, Memory.RAM, kind, *_row_major(shape, strides), aligned=False))

    def workspace(self, name: str, kind: Type, *shape: Index | int, aligned: bool = True) -> Array:
        """Declare a tensor that may be read and stored any number of times."""
        return self._tensor(Array(name, Memory.RAM, kind, *_row_major(shape), aligned=aligned))

    def rows(self, name: str, kind: Type, *shape: Index | int) -> Array:
        """Declare an input tensor whose rows are at arbitrary addresses, so that the kernel gets a pointer to each
        row.
        """
        extents, strides = _row_major(shape)
        return self._tensor(Array(name, Memory.RAM, kind, extents, strides, pointers=True, aligned=False))

    def output(self, name: str, kind: Type, *shape: Index | int, strides: tuple[Index, ...] = ()) -> Array:
        """Declare an output tensor. The kernel must store each element exactly once."""
        return self._tensor(Array(name, Memory.RAM, kind, *_row_major(shape, strides), written=True, aligned=False))

    def flash(self, name: str, kind: Type, *shape: Index | int, strides: tuple[Index, ...] = ()) -> Array:
        """Declare a tensor of constants in flash."""
        return self._tensor(Array(name, Memory.FLASH, kind, *_row_major(shape, strides)))

    def table(self, name: str, kind: Type, values: tuple[int, ...]) -> Array:
        return self._tensor(Array(name, Memory.FLASH, kind, *_row_major((len(values),)), values=values))

    @contextmanager
    def loop(self, var: str, extent: Index | int) -> Iterator[Index]:
        """Open a loop, whose variable takes each value from 0 to `extent` - 1."""
        self.open.append([])
        yield Index.name(var)
        body = self.open.pop()
        self._say(For(var, Index.of(extent), tuple(body)))

    @contextmanager
    def inside(self, at: Operand, extent: Index | int) -> Iterator[None]:
        """Open a condition, whose statements run if 0 <= `at` < `extent`. If `at` is a register, the statements inside
        the condition must not load or store tensors in RAM.
        """
        self.open.append([])
        yield
        body = self.open.pop()
        accesses = (s.tensor for s in statements(body) if isinstance(s, (Load, Store)))
        if isinstance(at, Reg) and (found := next((t for t in accesses if t.memory is Memory.RAM), None)):
            raise KernelError(
                f"whether '{found.name}' is accessed depends on register {at.name}",
                hint="load before the condition and store after it",
            )
        self._say(When(at, Index.of(extent), tuple(body)))

    def reg_alloc(self, kind: Type) -> Reg:
        self.registers += 1
        return Reg(f"r{self.registers}", kind)

    def ram_load(self, tensor: Array, *at: Index | int, by: Reg | None = None) -> Reg:
        """Load an element of a tensor in RAM, with the value of the register `by` added to the element's index."""
        return self._load(tensor, at, Memory.RAM, by)

    def flash_load(self, tensor: Array, *at: Index | int, by: Reg | None = None) -> Reg:
        """Load a constant, with the value of the register `by` added to its index, as in a table lookup."""
        return self._load(tensor, at, Memory.FLASH, by)

    def rescale(self, value: Reg, multiplier: Number, shift: Number) -> Reg:
        """Multiply `value` by `multiplier` and by 2^(shift - 31), with two roundings. The multiplier must not be
        negative.
        """
        return self.compute("rescale", Type.INT32, value, multiplier, shift)

    def broadcast(self, kind: Type, value: Number) -> Reg:
        return self.compute("copy", kind, value)

    def compute(self, op: str, kind: Type, *operands: Number) -> Reg:
        """Return a new register with the result of an operation, as defined in meaning.py."""
        to = self.reg_alloc(kind)
        self.assign(op, to, *operands)
        return to

    def assign(self, op: str, to: Reg, *operands: Number) -> None:
        """Compute a new value of the register `to` from its old value and from `operands`."""
        self._say(Compute(op, to, tuple(o if isinstance(o, Reg) else Index.of(o) for o in operands)))

    def dot(self, to: Reg, a: Number, b: Number) -> None:
        self.assign("dot", to, a, b)

    def update(self, op: str, to: Reg, *operands: Number) -> None:
        """Compute a new value of the register `to` from its old value and the operands."""
        self.assign(op, to, to, *operands)

    def requantise(self, value: Reg, multiplier: Reg, shift: Reg, zero_point: Index, span: Span) -> Reg:
        """Multiply a sum by `multiplier` and by 2^(shift - 31), add `zero_point`, and clamp the result to int8.

        Source in TFLM: MultiplyByQuantizedMultiplier of kernels/internal/common.cc, with two roundings.
        """
        x = self.rescale(value, multiplier, self.compute("copy", Type.INT32, shift))
        return self.clamp(self.compute("add", Type.INT32, x, zero_point), span)

    def clamp(self, value: Reg, span: Span, kind: Type = Type.INT8) -> Reg:
        x = self.compute("max", Type.INT32, value, span[0])
        return self.compute("copy", kind, self.compute("min", Type.INT32, x, span[1]))

    def ram_store(self, tensor: Array, value: Reg, *at: Index | int) -> None:
        self._say(Store(tensor, _indices(at), value))

    def _load(self, tensor: Array, at: tuple[Index | int, ...], memory: Memory, by: Reg | None = None) -> Reg:
        if tensor.memory is not memory:
            raise KernelError(
                f"'{tensor.name}' is in {tensor.memory.value} but is loaded from {memory.value}",
                hint=f"use {tensor.memory.value}_load()",
            )
        to = self.reg_alloc(tensor.type)
        self._say(Load(to, tensor, _indices(at), by))
        return to

    def _tensor(self, tensor: Array) -> Array:
        self.tensors.append(tensor)
        return tensor

    def _say(self, statement: Statement) -> None:
        self.open[-1].append(statement)


def kernel(about: str, name: str = "") -> Callable[[Callable[[Builder], None]], KernelProgram]:
    """Return a decorator that converts a function to a KernelProgram. By default, the name of the kernel is the name of
    the decorated function.
    """

    def decorate(describe: Callable[[Builder], None]) -> KernelProgram:
        b = Builder()
        describe(b)
        return KernelProgram(
            name or describe.__name__, about, tuple(b.sizes), tuple(b.numbers), tuple(b.tensors), tuple(b.open[0])
        )

    return decorate


def _indices(at: tuple[Index | int, ...]) -> tuple[Index, ...]:
    return tuple(Index.of(i) for i in at)


def _row_major(
    shape: tuple[Index | int, ...], given: tuple[Index, ...] = ()
) -> tuple[tuple[Index, ...], tuple[Index, ...]]:
    extents = _indices(shape)
    if given:
        return extents, (*given, Index.of(1))[: len(extents)]
    return extents, tuple(product(extents[axis + 1 :]) for axis in range(len(extents)))
