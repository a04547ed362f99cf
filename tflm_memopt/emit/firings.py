"""The firing order of a program with the row of each firing, for code without an executor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tflm_memopt.lower.program import Program
from tflm_memopt.plan.loops import iterations

Firing = tuple[int, int]
"""An operator and its row: a row of its output, or of its input if the operator is iterative."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A sequence of firings that is repeated; each operator's row advances by a constant per repetition."""

    times: int
    firings: tuple[Firing, ...]
    """The firings of the first repetition."""
    steps: tuple[int, ...]
    """Rows by which each firing advances per repetition."""


def firings(program: Program) -> Iterator[Firing]:
    """Yield all firings of one run. Works for groups that run row by row."""
    for block in program.blocks:
        made = [0] * block.n_ops
        for iteration in iterations(block.loops):
            yield block.first_op + iteration.stage, made[iteration.stage]
            made[iteration.stage] += 1


def looped(found: Sequence[Firing], most: int = 64) -> Iterator[Loop]:
    """Yield the same firings as loops. A loop body has at most `most` firings.

    >>> list(looped([(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (0, 3), (1, 2)]))[-1]
    Loop(times=3, firings=((0, 1), (1, 0)), steps=(1, 1))
    """
    at = 0
    while at < len(found):
        best = max((_repeated(found, at, period) for period in range(1, most + 1)), key=_saved)
        yield best
        at += best.times * len(best.firings)


def _saved(loop: Loop) -> int:
    return (loop.times - 1) * len(loop.firings)


def _repeated(found: Sequence[Firing], at: int, period: int) -> Loop:
    first, second = found[at : at + period], found[at + period : at + 2 * period]
    once = Loop(1, (found[at],), (0,))
    if [op for op, _ in first] != [op for op, _ in second]:
        return once
    steps = tuple(b - a for (_, a), (_, b) in zip(first, second, strict=True))
    times = 2
    while True:
        next_ = found[at + times * period : at + (times + 1) * period]
        expected = [(op, row + times * step) for (op, row), step in zip(first, steps, strict=True)]
        if list(next_) != expected:
            return Loop(times, tuple(first), steps)
        times += 1
