"""The iteration order of a program with the row of each iteration, for code without an executor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tflm_memopt.lower.program import Program
from tflm_memopt.plan.loops import iterations

OperatorRow = tuple[int, int]
"""An operator and its row: a row of its output, or of its input if the operator is iterative."""

LONGEST = 64


@dataclass(frozen=True, slots=True)
class Loop:
    """A sequence of iterations that is repeated; each operator's row advances by a constant per repetition."""

    times: int
    iterations: tuple[OperatorRow, ...]
    """The iterations of the first repetition."""
    steps: tuple[int, ...]
    """Rows by which each iteration advances per repetition."""


def executed(program: Program) -> Iterator[OperatorRow]:
    """Yield all iterations of one run. Works for groups that run row by row."""
    for group in program.groups:
        made = [0] * group.n_ops
        for iteration in iterations(group.loops):
            yield group.first_op + iteration.stage, made[iteration.stage]
            made[iteration.stage] += 1


def looped(found: Sequence[OperatorRow]) -> Iterator[Loop]:
    """Yield the same iterations as loops. A loop body has at most LONGEST iterations.

    >>> list(looped([(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (0, 3), (1, 2)]))[-1]
    Loop(times=3, iterations=((0, 1), (1, 0)), steps=(1, 1))
    """
    at = 0
    while at < len(found):
        best = max((_repeated(found, at, period) for period in range(1, LONGEST + 1)), key=_saved)
        yield best
        at += best.times * len(best.iterations)


def _saved(loop: Loop) -> int:
    return (loop.times - 1) * len(loop.iterations)


def _repeated(found: Sequence[OperatorRow], at: int, period: int) -> Loop:
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
