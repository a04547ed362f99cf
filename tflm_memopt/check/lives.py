"""The live ranges of a whole tiled group, with their addresses and times, for the checker's proof.

Each range of bytes is live from its write to its last read. No byte is lost if no two live ranges overlap in address
and time. A few passes over arrays of live ranges find overlaps among many pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import Ints, TaggedArena

BEFORE = 0
"""Time of writes before the group, and of events that never happen."""
MOST_PIECES = 1 << 24
"""Maximum number of live ranges that a proof handles; a group with more live ranges is replayed."""


class Unproved(Exception):
    """The proof failed because live ranges overlap or might overlap."""


def demand(fact: bool | np.bool_) -> None:
    """Raise Unproved if the condition is false."""
    if not fact:
        raise Unproved


@dataclass(frozen=True, slots=True)
class LiveRanges:
    """Live ranges: bytes [at, end) of the arena from the time of their write to that of their last read, inclusive.
    marks: tags that the write leaves in the arena (arena.py).
    """

    at: Ints
    end: Ints
    written: Ints
    read: Ints
    marks: Ints

    def of(self, which: Ints | NDArray[np.bool_]) -> LiveRanges:
        return LiveRanges(self.at[which], self.end[which], self.written[which], self.read[which], self.marks[which])


NONE = LiveRanges(*np.zeros((5, 0), dtype=np.int64))


def joined(parts: Sequence[LiveRanges]) -> LiveRanges:
    """Return the live ranges of all parts in one object."""
    columns = zip(*((x.at, x.end, x.written, x.read, x.marks) for x in (NONE, *parts)), strict=True)
    return LiveRanges(*(np.concatenate(column) for column in columns))


def pieces(lives: LiveRanges) -> LiveRanges:
    """Cut live ranges where others end, so that any two have equal or disjoint bytes, and sort by address and time."""
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
    """Return whether no two pieces of live ranges overlap, except those written before the group."""
    later = np.append(False, cut.at[1:] == cut.at[:-1])
    number = np.cumsum(~later)
    above = int(cut.read.max(initial=0)) + 1
    until = np.maximum.accumulate(number * above + cut.read) - number * above
    return not (later[1:] & (cut.written[1:] > BEFORE) & (cut.written[1:] <= until[:-1])).any()


def meet(one: LiveRanges, others: LiveRanges) -> bool:
    """Return whether a live range of `others` overlaps one of `one`, which are one after the other at one address."""
    if not len(one.at):
        return False
    near = (others.at < one.end[0]) & (others.end > one.at[0])
    begun = np.searchsorted(one.written, others.read[near], side="right")
    over = np.searchsorted(one.read, others.written[near], side="left")
    return bool((begun != over).any())


def leave(arena: TaggedArena, cut: LiveRanges, private: Sequence[LiveRanges]) -> None:
    """Write the tag of each byte's last write into the arena.

    cut: pieces of the tensors' live ranges. private: live ranges of other buffers, each of which has one address.
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
