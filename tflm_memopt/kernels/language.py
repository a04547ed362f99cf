"""What a kernel is made of: plain data. `build.py` makes it from a Python function; everything else reads it.

A kernel works on scalars in registers. `rewrites.py` makes vectors of them: a loop then takes as many turns at once as
the core has lanes, and registers that depend on its variable become vectors.

The vocabulary is vMCU's (Zheng et al., section 6): RegAlloc, RAMLoad, FlashLoad, Dot, Broadcast, RAMStore, RAMFree.
What lies in RAM and what in flash is said of the tensor; a scalar is broadcast where a vector wants it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

Extents: TypeAlias = Mapping[str, int]
"""Values of extents, parameters and loop variables."""


class Memory(enum.Enum):
    """Where a tensor lies."""

    RAM = "ram"
    """Its segments are freed one after the other."""
    FLASH = "flash"
    """Constants: nobody frees or overwrites them."""


class Type(enum.Enum):
    """What an element is: its name, and its bits."""

    INT8 = "int8", 8
    INT16 = "int16", 16
    INT32 = "int32", 32
    INT64 = "int64", 64
    """For sums alone, in C."""
    FLOAT32 = "float32", 32
    """For scalars alone."""

    def __init__(self, short: str, bits: int) -> None:
        self.short = short
        self.bits = bits

    @property
    def nbytes(self) -> int:
        """Bytes of an element."""
        return self.bits // 8

    @property
    def c(self) -> str:
        """In C."""
        return "float" if self is Type.FLOAT32 else f"{self.short}_t"


@dataclass(frozen=True, slots=True)
class Index:
    """An integer expression over extents, parameters and loop variables: a sum of products.

    >>> (Index.name("m") * Index.name("K") + 3).at({"m": 2, "K": 5})
    13
    """

    terms: tuple[tuple[int, tuple[str, ...]], ...]
    """Factor and names of each product, sorted."""

    @staticmethod
    def name(name: str) -> Index:
        """An extent, a parameter or a loop variable."""
        return Index(((1, (name,)),))

    @staticmethod
    def of(value: Index | int) -> Index:
        """A constant, too."""
        if isinstance(value, Index):
            return value
        return Index(((value, ()),) if value else ())

    def __add__(self, other: Index | int) -> Index:
        sums: dict[tuple[str, ...], int] = {}
        for factor, names in (*self.terms, *Index.of(other).terms):
            sums[names] = sums.get(names, 0) + factor
        return Index(tuple(sorted(((f, n) for n, f in sums.items() if f), key=lambda t: t[1])))

    def __mul__(self, other: Index | int) -> Index:
        products = [Index(((f * g, tuple(sorted((*n, *m)))),)) for f, n in self.terms for g, m in Index.of(other).terms]
        total = Index(())
        for product in products:
            total = total + product
        return total

    def __sub__(self, other: Index | int) -> Index:
        return self + Index.of(other) * -1

    __radd__, __rmul__ = __add__, __mul__

    def at(self, values: Extents) -> int:
        """Its value."""
        total = 0
        for factor, names in self.terms:
            for name in names:
                factor *= values[name]  # noqa: PLW2901 (a product)
            total += factor
        return total

    def slope(self, name: str) -> Index:
        """What it grows by when `name` grows by one; ValueError where that is not linear."""
        slope = Index(())
        for factor, names in self.terms:
            if names.count(name) > 1:
                raise ValueError(f"not linear in {name}")
            if name in names:
                slope = slope + Index(((factor, tuple(n for n in names if n != name)),))
        return slope

    @property
    def names(self) -> frozenset[str]:
        """All that it depends on."""
        return frozenset(name for _, names in self.terms for name in names)

    def put(self, name: str, value: Index | int) -> Index:
        """With an expression in place of `name`."""
        total = Index(())
        for factor, names in self.terms:
            product = Index.of(factor)
            for n in names:
                product = product * (value if n == name else Index.name(n))
            total = total + product
        return total

    def __str__(self) -> str:
        parts = []
        for factor, names in self.terms:
            text = " * ".join([*([str(abs(factor))] if abs(factor) != 1 or not names else []), *names])
            parts.append(("-" if factor < 0 else "+", text))
        if not parts:
            return "0"
        first = ("-" if parts[0][0] == "-" else "") + parts[0][1]
        return " ".join([first, *(f"{sign} {text}" for sign, text in parts[1:])])


@dataclass(frozen=True, slots=True)
class Array:
    """An operand."""

    name: str
    memory: Memory
    type: Type
    shape: tuple[Index, ...]
    strides: tuple[Index, ...]
    """Elements from one index of each axis to the next."""
    written: bool = False
    values: tuple[int, ...] = ()
    """What a table of the kernel's own holds."""
    aligned: bool = True
    """Its elements lie as C has them; else, if they are wider than a byte, at any address."""
    pointers: bool = False
    """C is given the address of each index of the first axis, instead of one address of all."""

    def offset(self, at: Sequence[Index]) -> Index:
        """Elements from its beginning."""
        total = Index(())
        for index, stride in zip(at, self.strides, strict=True):
            total = total + index * stride
        return total

    @property
    def elements(self) -> Index:
        """All of them."""
        total = Index.of(1)
        for extent in self.shape:
            total = total * extent
        return total

    @property
    def reach(self) -> Index:
        """Elements from its first to its last one, with what lies between them."""
        return self.offset([extent - 1 for extent in self.shape]) + 1


@dataclass(frozen=True, slots=True)
class Reg:
    """RegAlloc: a register, or as many as hold one value for each turn of the loop over `along` that runs at once."""

    name: str
    type: Type
    along: str = ""
    """The vectorised loop; empty: a scalar."""


Operand: TypeAlias = Reg | Index
"""A register, or a number that is the same for all lanes: Broadcast."""


@dataclass(frozen=True, slots=True)
class Load:
    """RAMLoad and FlashLoad."""

    to: Reg
    tensor: Array
    at: tuple[Index, ...]
    by: Reg | None = None
    """A register that says how many elements further: a table is looked up."""


@dataclass(frozen=True, slots=True)
class Compute:
    """`to` = op(operands), modulo 2^32: what each op means is in meaning.py. A dot adds to what `to` has."""

    op: str
    to: Reg
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Store:
    """RAMStore."""

    tensor: Array
    at: tuple[Index, ...]
    value: Reg


@dataclass(frozen=True, slots=True)
class Free:
    """RAMFree: elements [first, first + count) of a tensor in RAM are not read again."""

    tensor: Array
    first: Index
    count: Index
    along: str = ""
    """The vectorised loop: so many for each of its lanes, one behind the other."""

    def elements(self, values: Extents, lanes: int) -> range:
        """Which they are."""
        first, count = self.first.at(values), self.count.at(values)
        return range(first, first + count * (lanes if self.along else 1))


@dataclass(frozen=True, slots=True)
class For:
    """A loop over [0, extent)."""

    var: str
    extent: Index
    body: tuple[Statement, ...]
    vector: bool = False
    """As many turns at once as there are lanes; the body's registers are vectors along it."""
    segment: int = 0
    """Lanes of a vectorised loop at the most, which makes it vMCU's segment; 0: what the core has."""
    group: int = 0
    """Registers of a vector of its widest elements; 0: as many as the core can have."""
    step: int = 1
    """Turns that the body makes; the last ones, if they are fewer, are made by `rest`, one after the other."""
    rest: tuple[Statement, ...] = ()
    """One turn, or a loop over the same variable that goes on with those that are left. Of a vectorised loop that sums
    up over its lanes: by scalars, for cores that cannot leave lanes out.
    """


@dataclass(frozen=True, slots=True)
class When:
    """The body runs where 0 <= `at` < `extent`: a window's tap lies inside of its tensor. Where that is what a register
    holds, the body computes alone, so that no access depends on it.
    """

    at: Operand
    extent: Index
    body: tuple[Statement, ...]


Statement: TypeAlias = Load | Compute | Store | Free | For | When


@dataclass(frozen=True, slots=True)
class KernelProgram:
    """A description, or what rewrites have made of it."""

    name: str
    about: str
    extents: tuple[str, ...]
    """Sizes that are known when it runs."""
    parameters: tuple[str, ...]
    """Other numbers: zero points, limits."""
    tensors: tuple[Array, ...]
    body: tuple[Statement, ...]
    schedule: tuple[str, ...] = field(default=())
    """What was rewritten, in order."""

    def tensor(self, name: str) -> Array:
        """By its name; KeyError."""
        return {t.name: t for t in self.tensors}[name]


def goes_on(one: For) -> For | None:
    """The loop that makes what a loop leaves over, where that is one."""
    rest = one.rest[0] if one.rest else None
    return rest if isinstance(rest, For) and rest.var == one.var else None


def statements(body: Sequence[Statement]) -> Iterator[Statement]:
    """All of them, loops and conditions before what is in them."""
    for one in body:
        yield one
        if isinstance(one, (For, When)):
            yield from statements(one.body)


def within(one: For | When, change: Callable[[Sequence[Statement]], Sequence[Statement]]) -> For | When:
    """With what is inside of it changed."""
    if isinstance(one, When):
        return replace(one, body=tuple(change(one.body)))
    return replace(one, body=tuple(change(one.body)), rest=tuple(change(one.rest)))
