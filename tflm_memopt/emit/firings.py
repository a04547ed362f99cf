"""The order in which a program fires its operators' rows, which tmo_step() finds out at run time: for straight code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tflm_memopt.lower.program import Program, ProgramBlock, ProgramOp

Firing = tuple[int, int]
"""An operator and its row: of its output, of its input when it is iterative."""


@dataclass(frozen=True, slots=True)
class Loop:
    """The same firings so many times, each operator's rows further down each time."""

    times: int
    firings: tuple[Firing, ...]
    """What fires the first time."""
    steps: tuple[int, ...]
    """How many rows each of them is further down the next time."""


def firings(program: Program) -> Iterator[Firing]:
    """All of one run. For row blocks."""
    for block in program.blocks:
        made = [0] * len(program.ops)
        for sink in reversed(range(block.first_op, block.first_op + block.n_ops)):
            while program.ops[sink].sink and made[sink] < _units(program, program.ops[sink]):
                yield from _demand(program, block, made, sink)


def _demand(program: Program, block: ProgramBlock, made: list[int], wanted: int) -> Iterator[Firing]:
    """The operator's next row, and all before it that it lacks."""
    waiting = [wanted]
    while waiting:
        at = waiting[-1]
        lacking = _lacking(program, made, at)
        if lacking is None:
            yield at, made[at]
            made[at] += 1
            waiting.pop()
        else:
            waiting.append(lacking)


def _lacking(program: Program, made: Sequence[int], at: int) -> int | None:
    """The first producer that has not made what the operator's next row reads; None: all is there."""
    op = program.ops[at]
    for operand, producer in enumerate(op.producers):
        if producer is None:
            continue
        last = _last_row(program, op, operand, made[at])
        needed = _units(program, program.ops[producer]) if program.ops[producer].iterative and last >= 0 else last + 1
        if made[producer] < needed:
            return producer
    return None


def _units(program: Program, op: ProgramOp) -> int:
    return program.tensors[op.inputs[0] if op.iterative else op.output].height


def _last_row(program: Program, op: ProgramOp, operand: int, row: int) -> int:
    """The last row of an operand that a firing reads; -1: none."""
    if op.iterative:
        return row
    height = program.tensors[op.inputs[operand]].height
    if op.access:
        access = op.access[operand]
        first = int(access.first(np.array(row), height))
        end = min(first + access.extent, height)
        return end - 1 if end > first else -1
    return min(op.window.rows.end(row), height) - 1


def looped(found: Sequence[Firing], most: int = 64) -> Iterator[Loop]:
    """The same firings with what repeats itself, at most `most` firings long, told once.

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
