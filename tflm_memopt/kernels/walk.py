"""Iterates over a kernel's statements in execution order, for the NumPy interpreter and the access analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.kernels.language import (
    Compute,
    Extents,
    For,
    Free,
    Index,
    KernelProgram,
    Load,
    Reg,
    Statement,
    Store,
    When,
    goes_on,
)

Ints: TypeAlias = NDArray[np.int64]
Moment: TypeAlias = tuple[Load | Compute | Store | Free, dict[str, int], int]
"""A statement, the value of each extent, parameter and loop variable, and the number of lanes that run at once."""

RegisterValue: TypeAlias = Callable[[Reg], int]


def walk(kernel: KernelProgram, values: Extents, lanes: int = 1, held: RegisterValue | None = None) -> Iterator[Moment]:
    """Yield all statements except loops and conditions, in execution order.

    lanes: lanes of the core. held: function that returns a register's value, so that conditions can be tested. Without
    `held`, all conditions on registers are taken as true. The next statement changes the yielded dictionary of values.
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
    """Cache of the element numbers that each load or store accesses, for one run of a kernel."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Index, Index | None]] = {}
        """For each id() of a load or store, the first element that it accesses, and the distance between two lanes."""

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
