"""A kernel's statements in the order in which they run: what the NumPy reading and the accesses have in common."""

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
"""A statement, the values of all names, and how many lanes of a vectorised loop run at once (1 outside of one)."""

RegisterValue: TypeAlias = Callable[[Reg], int]


def walk(kernel: KernelProgram, values: Extents, lanes: int = 1, held: RegisterValue | None = None) -> Iterator[Moment]:
    """All statements but loops and conditions. lanes: what the core has; held: what a register holds, for conditions,
    without which all that depend on registers hold. The values change from moment to moment.
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
    step = (one.segment or lanes) if one.vector else one.step
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
    """Which of a tensor's elements each load or store of a kernel takes; one for each run of it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Index, Index | None]] = {}
        """By the statement's identity: its first element, and the distance from lane to lane."""

    def of(self, one: Load | Store, values: Extents, count: int) -> Ints:
        """One element, or one for each lane along a loop's variable."""
        if id(one) not in self._known:
            along = one.to.along if isinstance(one, Load) else one.value.along
            first = one.tensor.offset(one.at)
            self._known[id(one)] = first, first.slope(along) if along else None
        first, apart = self._known[id(one)]
        if apart is None:
            return np.array([first.at(values)], np.int64)
        return first.at(values) + apart.at(values) * np.arange(count, dtype=np.int64)
