"""Data structures that describe a kernel.

A register holds one number until scripts/schedules.py vectorises a loop. In a vectorised loop, each lane of the core
runs one iteration, and registers that depend on the loop variable are vectors.

The vocabulary is that of vMCU (Zheng et al., section 6): RegAlloc, RAMLoad, FlashLoad, Dot, Broadcast, RAMStore.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

Extents: TypeAlias = Mapping[str, int]


class Memory(enum.Enum):
    RAM = "ram"
    FLASH = "flash"


class Type(enum.Enum):
    INT8 = "int8", 8
    INT16 = "int16", 16
    INT32 = "int32", 32
    INT64 = "int64", 64
    """Kernels in C use 64-bit integers for wide sums, and kernels in assembly have none."""
    FLOAT32 = "float32", 32
    """Floats are always scalars, never vectors."""

    def __init__(self, short: str, bits: int) -> None:
        self.short = short
        self.bits = bits

    @property
    def nbytes(self) -> int:
        return self.bits // 8

    @property
    def least(self) -> int:
        return -(1 << (self.bits - 1))

    @property
    def c(self) -> str:
        return "float" if self is Type.FLOAT32 else f"{self.short}_t"


@dataclass(frozen=True, slots=True)
class Index:
    """An integer expression: a sum of products of extents, parameters and loop variables.

    >>> (Index.name("m") * Index.name("K") + 3).at({"m": 2, "K": 5})
    13
    """

    terms: tuple[tuple[int, tuple[str, ...]], ...]
    """Each item of the tuple stands for a product: a constant factor, and the sorted names of variables."""

    @staticmethod
    def name(name: str) -> Index:
        return Index(((1, (name,)),))

    @staticmethod
    def of(value: Index | int) -> Index:
        if isinstance(value, Index):
            return value
        return Index(((value, ()),) if value else ())

    def __add__(self, other: Index | int) -> Index:
        sums: dict[tuple[str, ...], int] = {}
        for factor, names in (*self.terms, *Index.of(other).terms):
            sums[names] = sums.get(names, 0) + factor
        return Index(tuple(sorted(((f, n) for n, f in sums.items() if f), key=lambda t: t[1])))

    def __mul__(self, other: Index | int) -> Index:
        products = (Index(((f * g, tuple(sorted((*n, *m)))),)) for f, n in self.terms for g, m in Index.of(other).terms)
        return sum(products, Index(()))

    def __sub__(self, other: Index | int) -> Index:
        return self + Index.of(other) * -1

    __radd__, __rmul__ = __add__, __mul__

    def at(self, values: Extents) -> int:
        total = 0
        for factor, names in self.terms:
            for name in names:
                factor *= values[name]  # noqa: PLW2901 (a product)
            total += factor
        return total

    def slope(self, name: str) -> Index:
        """Return the factor of the variable `name` in the expression. Raises ValueError for an expression that is not
        linear in `name`.
        """
        slope = Index(())
        for factor, names in self.terms:
            if names.count(name) > 1:
                raise ValueError(f"not linear in {name}")
            if name in names:
                slope = slope + Index(((factor, tuple(n for n in names if n != name)),))
        return slope

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for _, names in self.terms for name in names)

    def put(self, name: str, value: Index | int) -> Index:
        values = [
            [Index.of(factor), *(value if n == name else Index.name(n) for n in names)] for factor, names in self.terms
        ]
        return sum(map(product, values), Index(()))

    def __str__(self) -> str:
        parts = []
        for factor, names in self.terms:
            text = " * ".join([*([str(abs(factor))] if abs(factor) != 1 or not names else []), *names])
            parts.append(("-" if factor < 0 else "+", text))
        if not parts:
            return "0"
        first = ("-" if parts[0][0] == "-" else "") + parts[0][1]
        return " ".join([first, *(f"{sign} {text}" for sign, text in parts[1:])])


def product(factors: Iterable[Index | int]) -> Index:
    return reduce(lambda a, b: a * b, factors, Index.of(1))


@dataclass(frozen=True, slots=True)
class Array:
    name: str
    memory: Memory
    type: Type
    shape: tuple[Index, ...]
    strides: tuple[Index, ...]
    written: bool = False
    values: tuple[int, ...] = ()
    aligned: bool = True
    """True if the tensor's elements are aligned as C requires, and False if the elements may be at any address."""
    pointers: bool = False
    """True if the C code gets a pointer for each index of the first axis, instead of one pointer for the tensor."""

    def offset(self, at: Sequence[Index]) -> Index:
        return sum((index * stride for index, stride in zip(at, self.strides, strict=True)), Index(()))

    @property
    def reach(self) -> Index:
        """Number of elements from the first to the last element in memory, including gaps."""
        return self.offset([extent - 1 for extent in self.shape]) + 1


@dataclass(frozen=True, slots=True)
class Reg:
    """A register (RegAlloc in vMCU). A vector register holds a value for each iteration of a vectorised loop."""

    name: str
    type: Type
    along: str = ""


Operand: TypeAlias = Reg | Index


@dataclass(frozen=True, slots=True)
class Load:
    """Loads an element of a tensor into a register (RAMLoad or FlashLoad in vMCU)."""

    to: Reg
    tensor: Array
    at: tuple[Index, ...]
    by: Reg | None = None
    """Register that holds an additional offset in elements, as in a table lookup."""


@dataclass(frozen=True, slots=True)
class Compute:
    """Stores the result of an operation, modulo 2^32, in the register `to`. The operation "dot" adds its result to the
    old value of the register.
    """

    op: str
    to: Reg
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Store:
    tensor: Array
    at: tuple[Index, ...]
    value: Reg


@dataclass(frozen=True, slots=True)
class For:
    var: str
    extent: Index
    body: tuple[Statement, ...]
    vector: bool = False
    """True if each lane of the vector unit runs an iteration of its own, and registers hold vectors."""
    group: int = 0
    """Number of registers for a vector of the widest elements, or 0 for as many as the core allows."""
    step: int = 1
    """Number of iterations that one run of `body` computes."""
    rest: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class When:
    """A condition: the statements of `body` run only if 0 <= `at` < `extent`.

    If `at` is a register, the statements of `body` must not access RAM, because no access to RAM may depend on data.
    """

    at: Operand
    extent: Index
    body: tuple[Statement, ...]


Statement: TypeAlias = Load | Compute | Store | For | When


@dataclass(frozen=True, slots=True)
class KernelProgram:
    name: str
    about: str
    extents: tuple[str, ...]
    parameters: tuple[str, ...]
    tensors: tuple[Array, ...]
    body: tuple[Statement, ...]
    schedule: tuple[str, ...] = ()


Rewrite: TypeAlias = Callable[[KernelProgram], KernelProgram]


def statements(body: Sequence[Statement]) -> Iterator[Statement]:
    for one in body:
        yield one
        if isinstance(one, (For, When)):
            yield from statements(one.body)
        if isinstance(one, For):
            yield from statements(one.rest)


def within(one: For | When, change: Callable[[Sequence[Statement]], Sequence[Statement]]) -> For | When:
    if isinstance(one, When):
        return replace(one, body=tuple(change(one.body)))
    return replace(one, body=tuple(change(one.body)), rest=tuple(change(one.rest)))


def changed(
    one: Statement, reg: Callable[[Reg], Reg] = lambda reg: reg, index: Callable[[Index], Index] = lambda index: index
) -> Statement:
    def operand(operand: Operand) -> Operand:
        return reg(operand) if isinstance(operand, Reg) else index(operand)

    match one:
        case Load():
            return replace(one, to=reg(one.to), at=tuple(map(index, one.at)), by=reg(one.by) if one.by else None)
        case Store():
            return replace(one, at=tuple(map(index, one.at)), value=reg(one.value))
        case Compute():
            return replace(one, to=reg(one.to), operands=tuple(map(operand, one.operands)))
        case For():
            return replace(one, extent=index(one.extent))
        case When():
            return replace(one, at=operand(one.at), extent=index(one.extent))


def bind(values: Extents, *, aligned: bool = False) -> Rewrite:
    """Replace extents and parameters by numbers.

    If `aligned` is true, all callers must pass tensors that are aligned as C requires, and loads need no copies.
    """

    def put(index: Index) -> Index:
        for name in index.names & values.keys():
            index = index.put(name, values[name])
        return index

    def rewrite(kernel: KernelProgram) -> KernelProgram:
        tensors = {
            t: replace(
                t, shape=tuple(map(put, t.shape)), strides=tuple(map(put, t.strides)), aligned=aligned or t.aligned
            )
            for t in kernel.tensors
        }

        def bound(one: Statement) -> Statement:
            if isinstance(one, (For, When)):
                one = within(one, lambda body: [bound(s) for s in body])
            elif not isinstance(one, Compute):
                one = replace(one, tensor=tensors[one.tensor])
            return changed(one, index=put)

        left = ([name for name in names if name not in values] for names in (kernel.extents, kernel.parameters))
        extents, parameters = map(tuple, left)
        return replace(
            kernel, extents=extents, parameters=parameters, tensors=tuple(tensors.values()),
            body=tuple(map(bound, kernel.body)),
        )  # fmt: skip

    return rewrite
