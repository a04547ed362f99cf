"""Data that the search for tiled groups (tiles_search.py) keeps about the processed part of a group."""

from __future__ import annotations

from typing import NamedTuple

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.search.tiles_bytes import Reader


class Skip(NamedTuple):
    """A tensor that a later ADD of the group also reads: rows [m*advance + end - rows, m*advance + end)."""

    tensor: TensorId
    rows: int
    end: int
    stop: int
    """The ADD's last stripe plus one."""
    lag: int
    """Number of columns by which the ADD lags the operator that is being supplied."""


class State(NamedTuple):
    """The loop nest of an operator (plan/nest.py), and facts about the group after it."""

    rows: int
    end: int
    advance: int
    first: int
    """Stripes [first, stop) have rows. Stripe 0 is the first with output; earlier operators start earlier."""
    stop: int
    stripe_rows: int
    """Rows per stripe of the group's output, or of the input of the next iterative operator."""
    sums: int
    """Bytes that are still live when the next iterative operator is done, or -1 without one."""
    late: bool
    """The group's output is written stripe by stripe, since its last operator sums channel groups."""
    skips: tuple[Skip, ...]
    early: bool = False
    """The group's output is written throughout: one channel group after the other, each in all pixels."""
    by_rows: bool = False
    """Its tiles are as wide as the map. It requests no more rows of a streamed input at once than one window has."""


class Visit(NamedTuple):
    """An operator of a group with its loop nest; operators that process channel groups together count as one."""

    position: int
    """Position of the first operator."""
    state: State
    """State of the last operator's output, or of its input if it is iterative."""
    channel_groups: int = 1
    iterative: bool = False
    length: int = 1
    """Number of operators: 3 for expand, depthwise and project; 2 for expand and depthwise, or more if dense."""
    grouped_sums: bool = True
    """Whether the last operator sums channel groups; otherwise it writes each into a whole tensor."""

    @property
    def sums(self) -> bool:
        return self.channel_groups > 1 and self.grouped_sums

    @property
    def fills(self) -> bool:
        return self.channel_groups > 1 and not self.grouped_sums


Trail = tuple["Trail", Visit] | None
Label = tuple[int, int, Trail]
"""Bytes, multiply-accumulates, and visits from the group's end on."""


class Demand(NamedTuple):
    """Requirements of operators [first, ...) on their main input, and their cost."""

    visit: Visit
    nbytes: int
    macs: int
    rows: int
    """Rows [m*advance + end - rows, m*advance + end) in stripe m, including skips that start here."""
    end: int
    advance: int
    stripes: tuple[int, int]
    readers: tuple[Reader, ...]
    skips: tuple[Skip, ...]
