"""Compares when and where bytes are live during a whole group, for the checker's proof.

A byte is live from its write to its last read. No byte is lost if no two live ranges overlap in both address and time.
Operations on arrays compare all pixels at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import Ints, TaggedArena

BEFORE = 0
"""Stands for the time of all writes before the group, and for the last read of a byte that is never read."""
MOST_PIECES = 1 << 24
"""Maximum number of live ranges of a proof. A group with more live ranges is replayed iteration by iteration."""


class Unproved(Exception):
    """Raised if the proof fails because live ranges overlap or might overlap."""


def demand(fact: bool | np.bool_) -> None:
    if not fact:
        raise Unproved


class LiveRanges(NamedTuple):
    """Byte ranges [at, end), each live from its write to its last read. `marks` has the tag of each byte minus its
    address.
    """

    at: Ints
    end: Ints
    written: Ints
    read: Ints
    marks: Ints

    def of(self, which: Ints | NDArray[np.bool_]) -> LiveRanges:
        return LiveRanges(*(column[which] for column in self))


NONE = LiveRanges(*np.zeros((5, 0), dtype=np.int64))


def joined(parts: Sequence[LiveRanges]) -> LiveRanges:
    return LiveRanges(*(np.concatenate(column) for column in zip(NONE, *parts, strict=True)))


def pieces(lives: LiveRanges) -> LiveRanges:
    """Cut live ranges so that any two have all bytes or no byte in common, and sort them by address and time."""
    cuts = np.unique(np.concatenate((lives.at, lives.end)))
    first, counts = np.searchsorted(cuts, lives.at), np.searchsorted(cuts, lives.end)
    counts -= first
    demand(counts.sum() <= MOST_PIECES)
    of = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts - first, counts)
    order = np.lexsort((lives.written[of], number))
    of, number = of[order], number[order]
    return LiveRanges(cuts[number], cuts[number + 1], lives.written[of], lives.read[of], lives.marks[of])


def apart(cut: LiveRanges) -> bool:
    """Return whether no two live ranges overlap. Ranges that were written before the group may overlap."""
    later = np.append(False, cut.at[1:] == cut.at[:-1])
    number = np.cumsum(~later)
    above = int(cut.read.max(initial=0)) + 1
    until = np.maximum.accumulate(number * above + cut.read) - number * above
    return not (later[1:] & (cut.written[1:] > BEFORE) & (cut.written[1:] <= until[:-1])).any()


def overlap(one: LiveRanges, others: LiveRanges) -> bool:
    """Return whether a live range in `one` overlaps one in `others`, both sorted by time at each address."""
    if not len(one.at):
        return False
    near = (others.at < one.end[0]) & (others.end > one.at[0])
    begun = np.searchsorted(one.written, others.read[near], side="right")
    over = np.searchsorted(one.read, others.written[near], side="left")
    return bool((begun != over).any())


def leave(arena: TaggedArena, cut: LiveRanges, private: Sequence[LiveRanges]) -> None:
    """Set each written byte of the arena to the tag of the byte's last write.

    `cut` has the live ranges of tensors, made by pieces(). `private` has the live ranges of other buffers, each at one
    address.
    """
    last = cut.of(np.append(cut.at[1:] != cut.at[:-1], True)[: len(cut.at)] & (cut.written > BEFORE))
    counts = last.end - last.at
    where = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts - last.at, counts)
    written, marks = np.zeros((2, arena.end), dtype=np.int64)
    written[where], marks[where] = np.repeat(last.written, counts), np.repeat(last.marks, counts)
    for lives in private:
        if len(lives.at):
            place = slice(lives.at[-1], lives.end[-1])
            marks[place] = np.where(written[place] < lives.written[-1], lives.marks[-1], marks[place])
            written[place] = np.maximum(written[place], lives.written[-1])
    there = np.flatnonzero(written)
    arena.write_marks(there, marks[there])
