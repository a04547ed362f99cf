"""Data of the search for tiled groups (tiles_search.py) about the part of a group that has been processed."""

from __future__ import annotations

from typing import NamedTuple

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.search.tiles_bytes import Reader


class Skip(NamedTuple):
    """A tensor that a later ADD of the group reads, too; stripe m makes rows m*advance + end - [rows, 0) of it."""

    tensor: TensorId
    rows: int
    end: int
    stop: int
    """Number of the ADD's last stripe, plus 1."""
    lag: int
    """Number of columns by which the ADD is behind the operator whose input is being supplied."""


class State(NamedTuple):
    """The loop nest of an operator (plan/nest.py), with facts about the part of the group after it."""

    rows: int
    end: int
    advance: int
    first: int
    """Stripes [first, stop) have rows. The group's output begins with stripe 0, earlier operators before it."""
    stop: int
    stripe_rows: int
    """Number of rows per stripe of the group's output or of the next iterative operator's input."""
    sums: int
    """Number of bytes that are still live when the next iterative operator is done, or -1 if there is none."""
    late: bool
    """Whether the group's output is written stripe by stripe, because its last operator sums channel groups."""
    skips: tuple[Skip, ...]
    early: bool = False
    """Whether the group's output is written throughout: each channel group writes its channels of all pixels."""
    by_rows: bool = False
    """Whether tiles are as wide as the map, so that no more streamed rows are requested at once than one window has."""


class Visit(NamedTuple):
    """A group's operator with its loop nest, or several operators that process channel groups together."""

    position: int
    """Position of the first operator in the chain."""
    state: State
    """State of the last operator's output or, if it is iterative, of its input."""
    channel_groups: int = 1
    iterative: bool = False
    length: int = 1
    """Number of operators: 3 for expand, depthwise and project; 2 for expand and depthwise; 2 or more dense layers."""
    grouped_sums: bool = True
    """Whether the last operator sums channel groups; otherwise it writes each channel group into a whole tensor."""

    @property
    def sums(self) -> bool:
        return self.channel_groups > 1 and self.grouped_sums

    @property
    def fills(self) -> bool:
        return self.channel_groups > 1 and not self.grouped_sums


Trail = tuple["Trail", Visit] | None
Label = tuple[int, int, Trail]
"""Cost of a partial group: bytes, multiply-accumulates, and the decisions from the group's end on."""


class Demand(NamedTuple):
    """Requirements of the operators from `first` on for their main input, and the operators' cost."""

    visit: Visit
    nbytes: int
    macs: int
    rows: int
    """Rows [m*advance + end - rows, m*advance + end) of stripe m, including rows for skips that start here."""
    end: int
    advance: int
    stripes: tuple[int, int]
    readers: tuple[Reader, ...]
    skips: tuple[Skip, ...]
