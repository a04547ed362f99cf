"""Counts the work of COPY operators for each way in which tmo_copy_ref.c copies rows."""

from dataclasses import replace

import numpy as np

from tflm_memopt.analysis.costs import Work
from tflm_memopt.ops.packing import QUAD
from tflm_memopt.ops.rowop import Move, RowOp
from tflm_memopt.plan.nest import Ints

MOVES_TOGETHER = 4
"""A COPY with at most MOVES_TOGETHER moves finds the input rows of several output rows at once (`FEW_MOVES`)."""
SHORT = 16
"""If a core has unaligned loads, the core copies up to SHORT bytes in a fixed number of instructions."""


def copied(op: RowOp, done: Work, row: Ints, runs: Ints, *, by_row: bool, rolling: bool) -> Work:
    """Add the work of a COPY. The argument `runs` has the number of rows that each kernel call copies. The argument
    `by_row` is true if tmo_copy_rows() copies the rows. The argument `rolling` is true if an operand is in a rolling
    buffer.
    """
    n, moves = len(row), op.moves.moves if op.moves else ()
    times = np.array([n if op.scatters else _there(op, move, row) for move in moves])
    counts, sizes = np.array([[move.count, move.nbytes] for move in moves]).T
    several = int((runs > 1).sum())
    alone, searches = len(runs) - several, several * len(moves)
    if not by_row or _singly(op):
        alone, searches = n, 0
    elif rolling or not all(_is_even(op, move, n) for move in moves):
        alone, searches = n, n - len(runs)
    share = alone / max(1, n)
    whole = by_row and all(_is_whole(op, move) for move in moves)
    in_turn = not whole and (len(moves) > 1 or counts.max(initial=1) > 1 or _fills(op))
    calls = (counts > 1) & (sizes > 1) & ((sizes < QUAD) | (sizes > SHORT))
    nbytes = times * counts * sizes
    long = (sizes > SHORT) | (whole and share < 1)
    aligned = np.array([_in_words(op, move) for move in moves], dtype=bool)
    filled = (n * op.writes.row_bytes - float(nbytes.sum()) * (share < 1)) * _fills(op)
    extents = sum(access.extent for access in op.access)
    lookups = len({(move.operand, move.tap) for move in moves}) if by_row else extents
    return replace(
        done, read=0, rows=lookups * alone, runs=searches, pieces=float(times.sum()) * share,
        batches=float(times.sum()) * (1 - share) * in_turn + several * (whole and share < 1),
        loops=float((times * counts * ~calls)[counts > 1].sum()) + (n - alone) * (not in_turn and not whole),
        odd=float((times * counts * calls).sum()), singles=filled, quads=float(nbytes[long & aligned].sum()) // QUAD,
        swept=float(nbytes[long & ~aligned].sum()), gathers=float(nbytes[~long].sum()),
    )  # fmt: skip


def _there(op: RowOp, move: Move, row: Ints) -> int:
    height = op.operands[move.operand].h
    first = op.access[move.operand].first(row, height) + move.tap
    return int(((first >= 0) & (first < height)).sum())


def _in_words(op: RowOp, move: Move) -> bool:
    rows = op.operands[move.operand].row_bytes, op.writes.row_bytes
    places = move.source, move.target, move.source_step, move.target_step, move.phase_step
    return not any(n % QUAD for n in (*rows, *places))


def _fills(op: RowOp) -> bool:
    return op.moves is not None and op.moves.fill is not None


def _singly(op: RowOp) -> bool:
    moves = op.moves.moves if op.moves else ()
    return len(moves) > MOVES_TOGETHER or (_fills(op) and not len(moves) == moves[0].count == 1)


def _step(op: RowOp, move: Move) -> int:
    """Return the distance in bytes between the input positions of a move in adjacent output rows."""
    access, rows = op.access[move.operand], op.operands[move.operand]
    if access.mul == 0 or access.div > 1:
        return move.phase_step if move.period > 1 else 0
    return access.mul * rows.row_bytes if rows.h > 1 else 0


def _is_even(op: RowOp, move: Move, rows: int) -> bool:
    """Return whether tmo_copy_ref.c finds the input bytes of a move for several output rows at once."""
    access, source = op.access[move.operand], op.operands[move.operand]
    if access.table is not None:
        return False
    if access.mul == 0:
        return move.period <= 1 or rows <= move.period
    if access.div == 1:
        return move.period <= 1
    aligned = move.period == access.div and (move.shift - access.add) % access.div == 0
    if op.moves and len(op.moves.moves) == 1:  # copy_parts() copies a single move.
        return access.mul == 1 and (move.period <= 1 or aligned)
    even = access.mul == 1 and aligned and move.phase_step * access.div == source.row_bytes
    return even and source.h > 1


def _is_whole(op: RowOp, move: Move) -> bool:
    return move.count == 1 and move.nbytes == op.writes.row_bytes == _step(op, move)
