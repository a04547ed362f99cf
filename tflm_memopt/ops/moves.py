"""Finds the input rows and the ranges of bytes that operators such as PAD, CONCATENATION and SLICE move. NumPy applies
the operator to an array of element numbers, so that the output shows where each element comes from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.ops.rowop import NO_ROW, Access, Ints, Move, Moves, Rows

FILL = -1
"""Entry for the fill value in an array of byte positions."""
MAX_MOVES = 256
"""Greatest number of moves of a COPY operator, each of which takes 32 bytes of flash."""

MAX_RUNS = 0xFFFF
"""Greatest number of copied ranges in a move, because the C struct `tmo_move` stores the number as uint16_t."""

UNLIKE = "the rows of the output are made in different ways"

Indices = NDArray[np.int32]


class Irregular(Exception):
    """Raised if a program cannot express how bytes move."""


def numbered(shapes: Sequence[tuple[int, ...]]) -> list[Indices]:
    """Number the elements of all inputs, one input after the other, and return an array with the shape of each input.

    >>> [a.tolist() for a in numbered([(1, 2), (1, 1)])]
    [[[0, 1]], [[2]]]
    """
    result, first = [], 0
    for shape in shapes:
        count = int(np.prod(shape))
        result.append(np.arange(first, first + count, dtype=np.int32).reshape(shape))
        first += count
    return result


def in_bytes(index: Indices, item: int) -> Indices:
    """Convert element numbers to byte numbers, for elements of `item` bytes.

    >>> in_bytes(np.array([[2, FILL]], np.int32), 2).tolist()
    [[4, 5, -1, -1]]
    """
    each = index[..., np.newaxis] * np.int32(item) + np.arange(item, dtype=np.int32)
    result: Indices = np.where(index[..., np.newaxis] == FILL, np.int32(FILL), each)
    return result.reshape(*index.shape[:-1], -1)


def by_rows(
    index: Indices, reads: Sequence[Rows], writes: Rows, fill: int | None = None
) -> tuple[tuple[Access, ...], Moves]:
    """Return the input rows that iterations read, and the moves of bytes. Raises Irregular. For each output byte,
    `index` has the position of an input byte. The position FILL means that the output byte is the fill value.
    """
    index = index.reshape(writes.h, writes.row_bytes)
    first, accesses, slots = 0, list[Access](), list[_Slot]()
    for k, rows in enumerate(reads):
        mine = (index >= first) & (index < first + rows.nbytes)
        row, column = np.divmod(np.where(mine, index - first, 0), rows.row_bytes)
        access = _access(mine, row, rows.h)
        accesses.append(access)
        for slot in _slots(k, access, mine, row, column, rows):
            slots.append(slot)
            if len(slots) > MAX_MOVES:
                raise Irregular(f"a row is made of more than {MAX_MOVES} runs of bytes")
        first += rows.nbytes
    moves = tuple(move for slot in slots for move in _fewest_runs(slot, writes))
    if len(moves) > MAX_MOVES:
        raise Irregular(f"a row is made of {len(moves)} runs of bytes, at most {MAX_MOVES}")
    return tuple(accesses), Moves(moves, fill if np.any(index == FILL) else None)


def indices(reads: Sequence[Rows], writes: Rows, access: Sequence[Access], moves: Moves) -> Indices:
    """Return the position of the input byte for each output byte, or FILL."""
    index: Indices = np.full((writes.h, writes.row_bytes), FILL, np.int32)
    starts = np.cumsum([0, *(rows.nbytes for rows in reads)])
    y = np.arange(writes.h)
    for m in moves.moves:
        rows = reads[m.operand]
        row = access[m.operand].first(y, rows.h) + m.tap
        there = np.flatnonzero((row >= 0) & (row < rows.h))
        run, byte = np.divmod(np.arange(m.count * m.nbytes), m.nbytes)
        source = m.source + run * m.source_step + byte + (m.phase(there) * m.phase_step)[:, None]
        index[there[:, None], m.target + run * m.target_step + byte] = (
            starts[m.operand] + row[there][:, None] * rows.row_bytes + source
        )
    return index


def scattered(index: Indices, reads: Rows) -> Moves:
    """Return the moves of each input row to its places in a single output row. Raises Irregular. For each output byte,
    `index` has the position of an input byte, and each position must appear exactly once.
    """
    flat = index.ravel()
    if len(flat) != reads.nbytes or not np.array_equal(np.sort(flat), np.arange(len(flat))):
        raise Irregular(UNLIKE)
    _, inverse = by_rows(np.argsort(flat).astype(np.int32), [Rows(1, 1, len(flat))], reads)
    return Moves(tuple(map(_exchanged, inverse.moves)), scattered=True)


def _exchanged(move: Move) -> Move:
    last = (move.count - 1) if move.source_step < 0 else 0
    sign = -1 if last else 1
    return replace(
        move,
        source=move.target + last * move.target_step,
        target=move.source + last * move.source_step,
        source_step=sign * move.target_step,
        target_step=sign * move.source_step,
    )


class _Slot(NamedTuple):
    operand: int
    tap: int
    targets: Ints
    sources: Ints
    step: int
    """In each iteration, the move reads `step` bytes further in the input row. After `period` iterations, the move
    starts again.
    """
    period: int
    shift: int


def _access(mine: NDArray[np.bool_], row: Ints, height: int) -> Access:
    some: NDArray[np.bool_] = np.any(mine, axis=1)
    if not some.any():
        raise Irregular("an input is not read at all")
    first = np.where(mine, row, height).min(axis=1)
    last = np.where(mine, row, -1).max(axis=1)
    extent = int((last - first)[some].max()) + 1
    y = np.arange(len(some))
    for candidate in _formulas(first, some, extent):
        start, end = candidate.first(y, height), candidate.first(y, height) + extent
        read = (start < height) & (end > 0)
        begins = np.array_equal(np.maximum(start, 0)[some], first[some])
        if begins and (end > last)[some].all() and not read[~some].any():
            return candidate
    table = tuple(np.where(some, first, NO_ROW).tolist())
    return Access(extent=extent, table=table)


def _formulas(first: Ints, some: NDArray[np.bool_], extent: int) -> Iterator[Access]:
    (known,) = np.nonzero(some)
    rows = first[known]
    if len(known) == 1:
        yield Access(int(rows[0] - known[0]), 1, 1, extent)
    # The first window may begin in padding, so the second distance between windows is tried, too.
    for k, step in enumerate((np.diff(rows) // np.diff(known))[:2].tolist()):
        if step >= 0:
            yield Access(int(rows[k] - step * known[k]), step, 1, extent)
    changes = np.append(known[:1], known[1:][np.diff(rows) > 0])[:3]
    if len(changes) > 1:
        div = int(changes[-1] - changes[-2])
        yield Access(int(first[changes[-1]] * div - changes[-1]), 1, div, extent)


def _slots(
    operand: int, access: Access, mine: NDArray[np.bool_], row: Ints, column: Ints, rows: Rows
) -> Iterator[_Slot]:
    y = np.arange(len(mine))
    start = access.first(y, rows.h)
    for tap in range(access.extent):
        there = (start + tap >= 0) & (start + tap < rows.h)
        used = mine & (row == (start + tap)[:, None])
        y_there = y[there]
        targets = used[y_there[0]] if len(y_there) else used[0]
        if not (used[there] == targets).all():
            raise Irregular(UNLIKE)
        sources = column[there][:, targets]
        if targets.any():
            step, period, shift, origin = _phases(sources[:, 0], y_there)
            if not (sources - sources[:, :1] == sources[0] - sources[0, 0]).all():
                raise Irregular(UNLIKE)
            first = sources[0] - sources[0, 0] + origin
            ends = first.min(), first.max(), first.min() + step * (period - 1), first.max() + step * (period - 1)
            # The positions must lie inside the input row.
            if min(ends) < 0 or max(ends) >= rows.row_bytes:
                raise Irregular(UNLIKE)
            yield _Slot(operand, tap, np.flatnonzero(targets), first, step, period, shift)


def _phases(source: Ints, y: Ints) -> tuple[int, int, int, int]:
    """Return the step, period, shift and origin of a periodic sequence: (2, 3, 0, 8) for 8, 10, 12, 8, 10, 12."""
    changes = np.flatnonzero(np.diff(source))
    if not len(changes):
        return 0, 1, 0, int(source[0])
    step = int(source[changes[0] + 1] - source[changes[0]])
    back = np.flatnonzero(np.diff(source) != step) + 1
    back = back[back != changes[0] + 1]
    if not len(back):
        candidates = {(int(y[-1]) + 1, 0), (int(y[-1] - y[0]) + 1, int(-y[0]))}
    else:
        candidates = {(int(y[back[0]]), 0)}
        if len(back) > 1:
            candidates.add((int(y[back[1]] - y[back[0]]), int(-y[back[0]])))
        else:  # With a single jump back, a whole period lies before or after the jump.
            candidates |= {(n, int(-y[back[0]])) for n in (int(y[back[0]] - y[0]), int(y[-1] - y[back[0]]) + 1)}
    for period, shift in sorted((p, s % p) for p, s in candidates if p > 0):
        phase = (y + shift) % period
        origin = int(source[0] - step * phase[0])
        if np.array_equal(origin + step * phase, source):
            return step, period, shift, origin
    raise Irregular(UNLIKE)


def _fewest_runs(slot: _Slot, writes: Rows) -> Sequence[Move]:
    fewest = list(_runs(slot))
    for pixels in range(1, writes.w):
        if len(fewest) > 1 and writes.w % pixels == 0:
            repeated = _repeated(slot, pixels * writes.c)
            fewest = repeated if repeated is not None and len(repeated) < len(fewest) else fewest
    return fewest


def _repeated(slot: _Slot, period: int) -> list[Move] | None:
    n = int(np.searchsorted(slot.targets, period))
    if not 0 < n < len(slot.targets) or len(slot.targets) % n:
        return None
    targets, sources = slot.targets.reshape(-1, n), slot.sources.reshape(-1, n)
    times, step = np.arange(len(targets))[:, None], int(sources[1, 0] - sources[0, 0])
    alike = (targets == targets[0] + period * times).all() and (sources == sources[0] + step * times).all()
    if not alike or len(targets) > MAX_RUNS:
        return None
    first = slot._replace(targets=targets[0], sources=sources[0])
    return [
        replace(move, source=move.source + i * move.source_step, target=move.target + i * move.target_step,
                count=len(targets), source_step=step, target_step=period)
        for move in _runs(first)
        for i in range(move.count)
    ]  # fmt: skip


def _runs(slot: _Slot) -> Iterator[Move]:
    """Yield moves, each of which copies one run of bytes, or equally long runs at equal distances."""
    target, source = slot.targets, slot.sources
    cut = np.flatnonzero((np.diff(target) != 1) | (np.diff(source) != 1)) + 1
    starts = np.concatenate(([0], cut))
    lengths = np.diff(np.concatenate((starts, [len(target)])))
    t, s = target[starts], source[starts]
    i = 0
    while i < len(starts):
        end = min(_regular(t, s, lengths, i), i + MAX_RUNS)
        count = end - i
        steps = (int(s[i + 1] - s[i]), int(t[i + 1] - t[i])) if count > 1 else (0, 0)
        phases = slot.step, slot.period, slot.shift
        yield Move(slot.operand, slot.tap, int(s[i]), int(t[i]), int(lengths[i]), count, *steps, *phases)
        i = end


def _regular(target: Ints, source: Ints, lengths: Ints, i: int) -> int:
    steps = np.diff(np.stack([target, source])[:, i:])
    alike = (lengths[i + 1 :] == lengths[i]) & (steps == steps[:, :1]).all(axis=0)
    return i + 1 + int(np.append(alike, False).argmin())
