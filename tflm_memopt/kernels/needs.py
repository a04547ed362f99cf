"""What each element of an output is computed from: of each input, which indices along each axis.

The reading that the planner's facts come from (ops/kinds.py, ops/window.py). A description is gone through once, its
extents and parameters unknown: values are followed from loads through registers to stores; a loop's variable that a
value outlives stands for all of the loop's turns.
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
    Free,
    Index,
    KernelProgram,
    Load,
    Memory,
    Reg,
    Statement,
    Store,
    When,
)

_Number = TypeVar("_Number", int, NDArray[np.int64])

AT = "at"
"""The output's index along the axis that an input's axis follows."""
ALL = "'"
"""Behind a loop's variable that stands for all turns."""
ACCUMULATING = frozenset({"dot", "dot_across", "sum_across"})
"""Ops that add to what their register holds (meaning.OWN)."""


@dataclass(frozen=True, slots=True)
class AxisRange:
    """Indices of an input along one axis, those inside of it: [first, first + extent), or, where they are taken `per`
    times, all whose products lie there.
    """

    axis: int | None
    """The output's axis that they follow; None: they are the same for all of the output."""
    first: Index
    """In AT and parameters."""
    extent: Index
    per: Index = field(default=Index.of(1))

    def steps(self, values: Mapping[str, int]) -> AxisSteps:
        """For certain parameters."""
        numbers = self.first.slope(AT), self.first.put(AT, 0), self.extent, self.per
        return AxisSteps(*(index.at(values) for index in numbers))


class AxisSteps(NamedTuple):
    """The same in numbers: for the output's index y, [y * step + begin, y * step + begin + extent), or all whose
    products with `per` lie there.
    """

    step: int
    begin: int
    extent: int
    per: int = 1

    def first(self, y: _Number) -> _Number:
        """The first one."""
        return self._index(y * self.step + self.begin)

    def end(self, y: _Number) -> _Number:
        """Behind the last one."""
        return self._index(y * self.step + self.begin + self.extent)

    @property
    def most(self) -> int:
        """As many as there may be for one element of the output."""
        return self._index(self.extent)

    def reach(self, count: int) -> int:
        """From the first to the last one that so many elements of the output need, one behind the other."""
        return (count - 1) * self.step + self.extent

    def _index(self, product: _Number) -> _Number:
        """The first one whose product is no less."""
        return product if self.per == 1 else -(-product // self.per)


@dataclass(frozen=True, slots=True)
class InputNeed:
    """What an element of the output needs of one input."""

    tensor: Array
    along: tuple[AxisRange, ...]
    through: frozenset[str]
    """Ops by which one value was made of several."""
    early: bool
    """Each turn has loaded all that it loads before it stores."""

    @property
    def own(self) -> tuple[bool, ...]:
        """AxisRange each axis: whether it is the output's own index alone."""
        return tuple(a == AxisRange(k, Index.name(AT), Index.of(1)) for k, a in enumerate(self.along))

    def is_all(self, axis: int) -> bool:
        """Whether that is all along an axis."""
        return self.along[axis] == _all(self.tensor, axis)


@dataclass(frozen=True, slots=True)
class OutputNeeds:
    """An output, and its inputs in the order in which they are described."""

    output: Array
    inputs: Mapping[str, InputNeed]


class _Place(NamedTuple):
    """A statement, and what is around it, from the outside."""

    one: Load | Compute | Store
    loops: tuple[For, ...]
    conditions: tuple[When, ...]

    @property
    def registers(self) -> Iterator[Reg]:
        """That say whether it runs."""
        return (when.at for when in self.conditions if isinstance(when.at, Reg))


class _Source(NamedTuple):
    """A load that a value depends on."""

    tensor: Array
    at: tuple[Index, ...]
    inside: tuple[tuple[Index, Index], ...] = ()
    """What is not below 0, and below what it is, where it is loaded."""
    through: frozenset[str] = frozenset()
    anywhere: bool = False
    """A register says how many elements further."""


Sources: TypeAlias = frozenset[_Source]
_NONE: Sources = frozenset()


def needs(kernel: KernelProgram) -> OutputNeeds:
    """What a description says that stores its output in one place, and nothing else in RAM. Raises KernelError."""
    places = [*_places(kernel.body)]
    stores = [(k, place.one) for k, place in enumerate(places) if isinstance(place.one, Store)]
    if len(stores) != 1:
        raise KernelError(f"{kernel.name} has {len(stores)} stores", code="kernel_stores", hint="one, of its output")
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
        elif not isinstance(one, Free):
            yield _Place(one, loops, conditions)


def _common(a: Sequence[For], b: Sequence[For]) -> tuple[For, ...]:
    """The loops that are around both."""
    return tuple(one for one, other in zip(a, b, strict=False) if one is other)


def _same(a: Sequence[For], b: Sequence[For]) -> bool:
    return len(_common(a, b)) == len(a) == len(b)


def _sources_of(store: Store, around: _Place, places: Sequence[_Place]) -> Sources:
    """All that a stored element depends on."""
    held: dict[str, Sources] = {}
    home: dict[str, tuple[For, ...]] = {}
    """The loops that are around all that writes a register: what it holds is of the turn that runs."""
    for one, loops, _ in places:
        if not isinstance(one, Store):
            home[one.to.name] = _common(home.get(one.to.name, loops), loops)

    def value(registers: Iterable[object], loops: tuple[For, ...]) -> Sources:
        return _NONE.union(
            *(_turned(held[r.name], home[r.name], loops) for r in registers if isinstance(r, Reg) and r.name in held)
        )

    while True:
        before = dict(held)
        for place in places:
            one, loops = place.one, place.loops
            if isinstance(one, Store):
                continue
            found = value(place.registers, loops)
            if isinstance(one, Load):
                inside = tuple((when.at, when.extent) for when in place.conditions if isinstance(when.at, Index))
                found |= {_Source(one.tensor, one.at, inside, anywhere=one.by is not None)} | value((one.by,), loops)
            else:
                others = value((r for r in one.operands if r != one.to), loops)
                if one.to in one.operands or one.op in ACCUMULATING:
                    others = frozenset(s._replace(through=s.through | {one.op}) for s in others)
                found |= others
            held[one.to.name] = held.get(one.to.name, _NONE) | _turned(found, loops, home[one.to.name])
        if held == before:
            return value((store.value, *around.registers), around.loops)


def _turned(sources: Sources, loops: Sequence[For], kept: Sequence[For]) -> Sources:
    """With the variables of loops that are left standing for all turns."""
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
    """Which indices along one axis a source has, for an element that is stored."""
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
    """What an index is, how many there are of it, and how many times it is taken: of a turn's own index i that a
    condition keeps near, 0 <= a - s * i < n, the products s * i, which are a - n + 1 to a.
    """
    at = source.at[axis]
    turns = [name for name in at.names if at == Index.name(name) and at not in store.at]
    for inside, extent in source.inside:
        for slope in map(inside.slope, turns):
            if slope.terms and all(factor < 0 for factor, _ in slope.terms):
                return inside.put(turns[0], 0) - extent + 1, extent, slope * -1
    return at, Index.of(1), Index.of(1)


def _joined(kernel: str, tensor: Array, axis: int, ranges: Sequence[AxisRange]) -> AxisRange:
    """One range of several, of which one is all that there is."""
    different, whole = set(ranges), _all(tensor, axis)
    if len(different) > 1 and whole not in different:
        raise _unclear(kernel, tensor, axis)
    return whole if whole in different else ranges[0]


def _all(tensor: Array, axis: int) -> AxisRange:
    return AxisRange(None, Index(()), tensor.shape[axis])


def _unclear(kernel: str, tensor: Array, axis: int) -> KernelError:
    return KernelError(
        f"{kernel}: which indices of '{tensor.name}' an output needs along axis {axis} is no one range",
        code="kernel_needs",
        hint="sums of loop variables, of which one is the output's",
    )
