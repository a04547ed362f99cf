"""Determines which elements of each input an element of an output depends on, as index ranges per axis.

The analysis reads a description once, without values of extents and parameters. Values are followed from loads through
registers to stores. A value that is used after its loop counts as dependent on all iterations of the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import KernelError
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
    When,
)
from tflm_memopt.kernels.meaning import OWN

_Number = TypeVar("_Number", int, NDArray[np.int64])

AT = "at"
"""Name of the variable that stands for the output's index along an axis."""
ALL = "'"
"""Suffix of a loop variable that stands for all iterations of the loop."""


@dataclass(frozen=True, slots=True)
class AxisRange:
    """Indices of an input along one axis that an output element needs. An element with index i is needed if `i * per`
    is in [first, first + extent).
    """

    axis: int | None
    """Axis of the output whose index determines the input indices, or None if there is no dependence."""
    first: Index
    extent: Index
    per: Index = field(default=Index.of(1))

    def steps(self, values: Mapping[str, int]) -> AxisSteps:
        numbers = self.first.slope(AT), self.first.put(AT, 0), self.extent, self.per
        return AxisSteps(*(index.at(values) for index in numbers))


class AxisSteps(NamedTuple):
    """An AxisRange in which extents and parameters have values.

    Output index y starts at input position y times `step` plus `begin`, and covers `extent` positions.
    Adjacent input indices are `per` positions apart.
    """

    step: int
    begin: int
    extent: int
    per: int = 1

    def first(self, y: _Number) -> _Number:
        return self._index(y * self.step + self.begin)

    def end(self, y: _Number) -> _Number:
        return self._index(y * self.step + self.begin + self.extent)

    @property
    def most(self) -> int:
        return self._index(self.extent)

    def reach(self, count: int) -> int:
        return (count - 1) * self.step + self.extent

    def _index(self, product: _Number) -> _Number:
        return product if self.per == 1 else -(-product // self.per)


@dataclass(frozen=True, slots=True)
class InputNeed:
    tensor: Array
    along: tuple[AxisRange, ...]
    through: frozenset[str]
    early: bool
    """True if each iteration of a loop loads all of its values before its first store."""

    @property
    def own(self) -> tuple[bool, ...]:
        """True for each axis along which output element n needs only input element n."""
        return tuple(a == AxisRange(k, Index.name(AT), Index.of(1)) for k, a in enumerate(self.along))

    def is_all(self, axis: int) -> bool:
        return self.along[axis] == _all(self.tensor, axis)


@dataclass(frozen=True, slots=True)
class OutputNeeds:
    output: Array
    inputs: Mapping[str, InputNeed]


class _Place(NamedTuple):
    one: Load | Compute | Store
    loops: tuple[For, ...]
    conditions: tuple[When, ...]

    @property
    def deciding_registers(self) -> Iterator[Reg]:
        return (when.at for when in self.conditions if isinstance(when.at, Reg))


class _Source(NamedTuple):
    tensor: Array
    at: tuple[Index, ...]
    inside: tuple[tuple[Index, Index], ...] = ()
    """Pairs of an expression and a limit. The kernel loads the element only if each expression is in [0, limit)."""
    through: frozenset[str] = frozenset()
    anywhere: bool = False


Sources: TypeAlias = frozenset[_Source]
_NONE: Sources = frozenset()


def needs(kernel: KernelProgram) -> OutputNeeds:
    """Return the input elements that an element of the kernel's output needs. Raises KernelError for several stores to
    RAM.
    """
    places = [*_places(kernel.body)]
    stores = [(k, place.one) for k, place in enumerate(places) if isinstance(place.one, Store)]
    if len(stores) != 1:
        raise KernelError(f"{kernel.name} has {len(stores)} stores", hint="store to one output only")
    (last, store), around = stores[0], places[stores[0][0]]
    extents = {loop.var: loop.extent for place in places for loop in place.loops}
    sources, found = _sources_of(store, around, places), {}
    for tensor in kernel.tensors:
        mine = [source for source in sources if source.tensor == tensor]
        if tensor.memory is Memory.RAM and mine:
            ranges = ([_along(kernel.name, s, store, axis, extents) for s in mine] for axis in range(len(mine[0].at)))
            loads = [k for k, p in enumerate(places) if isinstance(p.one, Load) and p.one.tensor == tensor]
            found[tensor.name] = InputNeed(
                tensor,
                tuple(_joined(kernel.name, tensor, axis, each) for axis, each in enumerate(ranges)),
                frozenset[str]().union(*(s.through for s in mine)),
                all(k < last and _same(places[k].loops, around.loops) for k in loads),
            )
    return OutputNeeds(store.tensor, found)


def _places(
    body: Sequence[Statement], loops: tuple[For, ...] = (), conditions: tuple[When, ...] = ()
) -> Iterator[_Place]:
    for one in body:
        if isinstance(one, For):
            yield from _places(one.body, (*loops, one), conditions)
        elif isinstance(one, When):
            yield from _places(one.body, loops, (*conditions, one))
        else:
            yield _Place(one, loops, conditions)


def _common(a: Sequence[For], b: Sequence[For]) -> tuple[For, ...]:
    return tuple(one for one, other in zip(a, b, strict=False) if one is other)


def _same(a: Sequence[For], b: Sequence[For]) -> bool:
    return len(_common(a, b)) == len(a) == len(b)


def _sources_of(store: Store, around: _Place, places: Sequence[_Place]) -> Sources:
    held: dict[str, Sources] = {}
    home: dict[str, tuple[For, ...]] = {}
    for one, loops, _ in places:
        if not isinstance(one, Store):
            home[one.to.name] = _common(home.get(one.to.name, loops), loops)

    def value(registers: Iterable[object], loops: tuple[For, ...]) -> Sources:
        return _NONE.union(
            *(_reversed(held[r.name], home[r.name], loops) for r in registers if isinstance(r, Reg) and r.name in held)
        )

    while True:
        before = dict(held)
        for place in places:
            one, loops = place.one, place.loops
            if isinstance(one, Store):
                continue
            found = value(place.deciding_registers, loops)
            if isinstance(one, Load):
                inside = tuple((when.at, when.extent) for when in place.conditions if isinstance(when.at, Index))
                found |= {_Source(one.tensor, one.at, inside, anywhere=one.by is not None)} | value((one.by,), loops)
            else:
                others = value((r for r in one.operands if r != one.to), loops)
                if one.to in one.operands or one.op in OWN:
                    others = frozenset(s._replace(through=s.through | {one.op}) for s in others)
                found |= others
            held[one.to.name] = held.get(one.to.name, _NONE) | _reversed(found, loops, home[one.to.name])
        if held == before:
            return value((store.value, *around.deciding_registers), around.loops)


def _reversed(sources: Sources, loops: Sequence[For], kept: Sequence[For]) -> Sources:
    """At the end of a loop, replace the loop variable in all indices by a variable that stands for all iterations."""
    left = [loop.var for loop in loops[len(_common(loops, kept)) :]]
    if not left:
        return sources
    return frozenset(
        s._replace(
            at=tuple(_of_all(at, left) for at in s.at),
            inside=tuple((_of_all(at, left), extent) for at, extent in s.inside),
        )
        for s in sources
    )


def _of_all(at: Index, left: Iterable[str]) -> Index:
    for var in at.names.intersection(left):
        at = at.put(var, Index.name(var + ALL))
    return at


def _along(kernel: str, source: _Source, store: Store, axis: int, extents: Mapping[str, Index]) -> AxisRange:
    if source.anywhere:
        return _all(source.tensor, axis)
    (at, extent, per), follows = _product(source, axis, store), None
    for name in sorted(at.names):
        turns = extents.get(name.removesuffix(ALL))
        if turns is None:
            continue
        if Index.name(name) in store.at and follows is None:
            follows, at = store.at.index(Index.name(name)), at.put(name, Index.name(AT))
            continue
        slope = at.slope(name)
        if Index.name(name) in store.at or any(factor < 0 for factor, _ in slope.terms):
            raise _unclear(kernel, source.tensor, axis)
        extent, at = extent + slope * (turns - 1), at.put(name, 0)
    return AxisRange(follows, at, extent, per)


def _product(source: _Source, axis: int, store: Store) -> tuple[Index, Index, Index]:
    """Return expressions (first, n, factor): the load's index times `factor` is in [first, first + n).

    A condition `0 <= a - s * i < n` on the loop index i limits `s * i` to the range from `a - n + 1` to `a`.
    """
    at = source.at[axis]
    turns = [name for name in at.names if at == Index.name(name) and at not in store.at]
    for inside, extent in source.inside:
        for slope in map(inside.slope, turns):
            if slope.terms and all(factor < 0 for factor, _ in slope.terms):
                return inside.put(turns[0], 0) - extent + 1, extent, slope * -1
    return at, Index.of(1), Index.of(1)


def _joined(kernel: str, tensor: Array, axis: int, ranges: Sequence[AxisRange]) -> AxisRange:
    different, whole = set(ranges), _all(tensor, axis)
    if len(different) > 1 and whole not in different:
        raise _unclear(kernel, tensor, axis)
    return whole if whole in different else ranges[0]


def _all(tensor: Array, axis: int) -> AxisRange:
    return AxisRange(None, Index(()), tensor.shape[axis])


def _unclear(kernel: str, tensor: Array, axis: int) -> KernelError:
    return KernelError(
        f"{kernel}: the indices of '{tensor.name}' that an output needs along axis {axis} are not one range",
        hint="sums of loop variables, of which one is the output's",
    )
