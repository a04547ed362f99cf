"""The checker's view of a whole tiled block at once: what lives in the arena, where, and from when to when.

What is written lives where it lies, from its writing to its last reading. Nothing is lost when no two lives meet, at
the same address at the same moment: that is decided for hundreds of thousands of pixels in a few passes over arrays.
Naive, and written anew (checker.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import Ints, TaggedArena

BEFORE = 0
"""The moment when what a block finds was written; also: never."""
MOST_PIECES = 1 << 24
"""Most live ranges that a proof looks at; a block with more is replayed."""


class Unproved(Exception):
    """Some lives meet, or might."""


def demand(fact: bool | np.bool_) -> None:
    """Raises Unproved where it is none."""
    if not fact:
        raise Unproved


@dataclass(frozen=True, slots=True)
class LiveRanges:
    """What lives at bytes [at, end) of the arena between two moments, both included, with these marks."""

    at: Ints
    end: Ints
    written: Ints
    read: Ints
    marks: Ints

    def of(self, which: Ints | NDArray[np.bool_]) -> LiveRanges:
        """Some of them."""
        return LiveRanges(self.at[which], self.end[which], self.written[which], self.read[which], self.marks[which])


NONE = LiveRanges(*np.zeros((5, 0), dtype=np.int64))


def joined(parts: Sequence[LiveRanges]) -> LiveRanges:
    """All of them."""
    columns = zip(*((x.at, x.end, x.written, x.read, x.marks) for x in (NONE, *parts)), strict=True)
    return LiveRanges(*(np.concatenate(column) for column in columns))


def pieces(lives: LiveRanges) -> LiveRanges:
    """The same, cut at all ends of others, address after address, moment after moment: two of them are at the same
    addresses or have none in common.
    """
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
    """Whether no two of these pieces meet; those of what was there before do not."""
    later = np.append(False, cut.at[1:] == cut.at[:-1])
    number = np.cumsum(~later)
    above = int(cut.read.max(initial=0)) + 1
    until = np.maximum.accumulate(number * above + cut.read) - number * above  # of these or earlier ones of the place
    return not (later[1:] & (cut.written[1:] > BEFORE) & (cut.written[1:] <= until[:-1])).any()


def meet(one: LiveRanges, others: LiveRanges) -> bool:
    """Whether any of others meets one of these, which are at one place, each over when the next one begins."""
    if not len(one.at):
        return False
    near = (others.at < one.end[0]) & (others.end > one.at[0])
    begun = np.searchsorted(one.written, others.read[near], side="right")
    over = np.searchsorted(one.read, others.written[near], side="left")
    return bool((begun != over).any())


def leave(arena: TaggedArena, cut: LiveRanges, private: Sequence[LiveRanges]) -> None:
    """Leaves in the arena, for each byte, what was written there last: by pieces, and by buffers of one place each."""
    last = cut.of(np.append(cut.at[1:] != cut.at[:-1], True)[: len(cut.at)] & (cut.written > BEFORE))
    counts = last.end - last.at
    where = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts - last.at, counts)
    written, marks = np.zeros((2, arena.head), dtype=np.int64)
    written[where], marks[where] = np.repeat(last.written, counts), np.repeat(last.marks, counts)
    for lives in private:
        if len(lives.at):
            place = slice(lives.at[-1], lives.end[-1])
            marks[place] = np.where(written[place] < lives.written[-1], lives.marks[-1], marks[place])
            written[place] = np.maximum(written[place], lives.written[-1])
    there = np.flatnonzero(written)
    arena.write_marks(there, marks[there])
