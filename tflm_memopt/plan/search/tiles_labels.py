"""What the search for tiled blocks (tiles_search.py) remembers of the part of a block that it has gone through."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.search.tiles_bytes import Reader


class Skip(NamedTuple):
    """A tensor that an ADD nearer to the block's end reads, too: rows [m*advance + end - rows, m*advance + end)."""

    tensor: TensorId
    rows: int
    end: int
    stop: int
    """The ADD's last strip, plus one."""
    lag: int
    """Columns by which the ADD is behind the operator that is being supplied."""


class State(NamedTuple):
    """The walk of an operator (plan/walk.py), and what is known of the block behind it."""

    rows: int
    end: int
    advance: int
    first: int
    """Strips [first, stop) have rows. Strip 0 is the first one that makes output: operators in front start earlier."""
    stop: int
    strip_rows: int
    """Rows per strip of the block's output, or of the input of the iterative operator behind this one."""
    sums: int
    """Bytes that are still alive when an iterative operator behind this one is done; -1: there is none."""
    late: bool
    """The block's output is written strip by strip: its last operator adds up channel groups."""
    skips: tuple[Skip, ...]
    early: bool = False
    """The block's output is written from the first firing to the last: group after group, each in all pixels."""
    by_rows: bool = False
    """Its tiles are as wide as the map: of a streamed input it wants no more rows at once than one window has."""


class Visit(NamedTuple):
    """An operator of a block with its walk; those that go through channel groups together count as one."""

    position: int
    """Position of the first operator."""
    state: State
    """State of the last operator's output, or of its input when it is iterative."""
    groups: int = 1
    iterative: bool = False
    length: int = 1
    """Operators: 3 of expand, depthwise and project; 2 of expand and depthwise; two or more of dense layers."""
    grouped_sums: bool = True
    """Whether the last operator adds channel groups up; else it writes each into a whole tensor."""

    @property
    def sums(self) -> bool:
        return self.groups > 1 and self.grouped_sums

    @property
    def fills(self) -> bool:
        return self.groups > 1 and not self.grouped_sums


Trail = tuple["Trail", Visit] | None
Label = tuple[int, int, Trail]
"""Bytes, multiply-accumulates, visits from the block's end on."""


class Found(NamedTuple):
    """A block: the operators from `first` on."""

    first: int
    nbytes: int
    macs: int
    trail: Trail


class Demand(NamedTuple):
    """What operators [first, ...) want of their main input, and what they cost."""

    visit: Visit
    nbytes: int
    macs: int
    rows: int
    """Rows [m*advance + end - rows, m*advance + end) in strip m, skips that start here included."""
    end: int
    advance: int
    strips: tuple[int, int]
    readers: tuple[Reader, ...]
    skips: tuple[Skip, ...]


def front(labels: Iterable[Label], grain: int) -> list[Label]:
    """Labels that no other one beats, fewest bytes first; one must save at least `grain` for the bytes that it adds."""
    kept: list[Label] = []
    for label in sorted(labels, key=lambda x: x[:2]):
        if not kept or label[1] < kept[-1][1] - grain:
            kept.append(label)
    return kept


def pareto(blocks: Iterable[Found], grain: int) -> list[Found]:
    """Blocks of one length that no other one beats by bytes or by more than `grain` multiply-accumulates."""
    kept: list[Found] = []
    for block in sorted(blocks, key=lambda x: (x.nbytes, x.macs)):
        if not kept or block.macs < kept[-1].macs - grain:
            kept.append(block)
    return kept
