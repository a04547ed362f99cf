"""Proves that operators read the rows that TFLM's operators need.

The replay of a plan relies on the rows that are declared for each operator. This module proves that the declared rows
contain all pixels that TFLM's kernels need. The module does not check an operator that computes only a part of a
tensor, because the model has no equal operator.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.check.arena import Ints
from tflm_memopt.check.movements import MOVEMENTS, PADDING, origins
from tflm_memopt.check.needed import NEEDS, Corners
from tflm_memopt.check.windows import first_row, window
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import ABSENT, ITEM_BYTES, Graph, Op
from tflm_memopt.ops.rowop import Move, RowOp, Rows
from tflm_memopt.rowgraph.graph import RowGraph

JOINS = ("CONCATENATION", "PACK")
"""Operators whose constant operands are joined to one operand of a RowOp."""
CHUNK = 1 << 18
"""Maximum number of output bytes that are compared at once."""


def check_reads(graph: RowGraph) -> None:
    """Raise PlanError if an operator reads other data than TFLM's operator. If the input slides, check the row graph of
    the whole input. The module sliding.py compares the plan with the row graph of the whole input.
    """
    if graph.window:
        graph = graph.window.whole
    model = _whole(graph)
    stated = {op.index: op for op in model.ops}
    for key, op in graph.ops.items():
        of = stated[key]
        if op.moves is not None and of.type in MOVEMENTS and _is_defined(op, of, model):
            _check_movement(model, of, op)
        elif op.moves is None and of.type in NEEDS and _is_defined(op, of, model):
            position = {k: n for n, k in enumerate(_operands(model, of))}
            for need in NEEDS[of.type](model, of):
                _check_need(op, position[need.operand], need, f"operator {of.index} {op.name}")


def _whole(graph: RowGraph) -> Graph:
    """Return the model with the original shape of a streamed input."""
    source, model = graph.source, graph.model
    if source is None:
        return model
    tensor = replace(model.tensors[source.tensor], shape=source.shape)
    return replace(model, tensors={**model.tensors, source.tensor: tensor})


def _operands(graph: Graph, op: Op) -> list[int]:
    """Return the indices of the operands that are read at run time. GREATER runs as LESS with exchanged operands."""
    tensors = ((k, graph.tensors[t]) for k, t in enumerate(op.inputs) if t != ABSENT)
    found = [k for k, tensor in tensors if not tensor.constant and not tensor.variable]
    return found[::-1] if op.type.startswith("GREATER") else found


def _fixed(graph: Graph, op: Op) -> list[int]:
    return [k for k, t in enumerate(op.inputs) if graph.tensors[t].constant] if op.type in JOINS else []


def _is_defined(op: RowOp, of: Op, graph: Graph) -> bool:
    given = _operands(graph, of)
    views = [*zip(op.reads, (of.inputs[k] for k in given), strict=False), (op.writes, of.outputs[0])]
    pixels = [(rows.h * rows.w, graph.tensors[t]) for rows, t in views]
    alike = all(rows.nbytes == graph.tensors[t].nbytes for rows, t in views)
    folded = op.moves is None and all(n == math.prod(tensor.shape[:-1]) for n, tensor in pixels)
    alone = op.older is None and not op.rolling_buffers and op.message is None
    return alone and len(given) == len(op.inputs) and (alike or folded)


def _check_need(op: RowOp, k: int, need: Corners, who: str) -> None:
    made, seen = op.writes, op.reads[k]
    y, x0, x1, end = _span(made, np.arange(len(need.first)), made.nbytes // len(need.first))
    read = window(op, k, y, x0, x1)._replace(bottom=window(op, k, end - 1, x0, x1).bottom)
    some = need.first <= need.last
    for corner in (need.first, need.last):
        row, left, right, below = _span(seen, corner, seen.nbytes // need.pixels)
        inside = (read.top <= row) & (below <= read.bottom) & (read.left <= left) & (right <= read.right)
        if (wrong := np.flatnonzero(some & ~inside)).size:
            i = int(wrong[0])
            raise PlanError(
                f"{who}: row {y[i]}, column {x0[i]} of the output needs row {row[i]}, column {left[i]} of input {k}, "
                f"but reads rows {read.top[i]}..{read.bottom[i] - 1}, columns {read.left[i]}..{read.right[i] - 1}"
            )


def _span(rows: Rows, unit: Ints, nbytes: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the first row, the end row and the columns of each run of `nbytes` bytes."""
    first, last = unit * nbytes, (unit + 1) * nbytes - 1
    top, bottom = first // rows.row_bytes, last // rows.row_bytes
    left, right = (at % rows.row_bytes // rows.c for at in (first, last))
    single = top == bottom
    return top, np.where(single, left, 0), np.where(single, right + 1, rows.w), bottom + 1


_Copied = tuple[int, NDArray[np.int32], NDArray[np.int32]]
"""A block of copied bytes: the index of the first output byte, the input of each byte, and the byte's index in the
input.
"""


def _check_movement(model: Graph, of: Op, op: RowOp) -> None:
    who = f"operator {of.index} {op.name}"
    _check_constants(model, of, op, who)
    # Inputs that are the same tensor get the same index.
    alike = np.array([*map(op.inputs.index, op.inputs), len(op.inputs), PADDING])
    for first, operand, source in copied(op, who):
        wanted, wanted_source = _origins(model, of, np.arange(first, first + len(source)))
        same = (alike[operand] == alike[wanted]) & ((operand == PADDING) | (source == wanted_source))
        if not same.all():
            n = int(same.argmin())
            y, x = divmod(first + n, op.writes.row_bytes)
            ours, theirs = _name(operand[n], source[n]), _name(wanted[n], wanted_source[n])
            raise PlanError(f"{who}: byte {x} of output row {y} is {ours}, but TFLM's is {theirs}")


def _check_bounds(op: RowOp, who: str) -> None:
    for move in op.moves.moves if op.moves else ():
        most = (move.period - 1) * move.phase_step
        for first, step, rows, is_phased in (
            (move.source, move.source_step, op.operands[move.operand], not op.scatters),
            (move.target, move.target_step, op.writes, op.scatters),
        ):
            runs = _runs(first, step, move)
            ends = runs.min() + min(0, most * is_phased), runs.max() + max(0, most * is_phased)
            if ends[0] < 0 or ends[1] >= rows.row_bytes:
                raise PlanError(f"{who}: a move covers bytes {ends[0]}..{ends[1]} of a row of {rows.row_bytes}")


def _check_constants(model: Graph, of: Op, op: RowOp, who: str) -> None:
    fixed = (model.tensors[of.inputs[k]].data for k in _fixed(model, of))
    expected = b"".join(b"" if data is None else np.ascontiguousarray(data).tobytes() for data in fixed)
    if expected != (op.constant.values.tobytes() if op.constant else b""):
        raise PlanError(f"{who}: its constant operand differs from the model's")


def _name(operand: np.integer[Any], byte: np.integer[Any]) -> str:
    return "padding" if operand == PADDING else f"byte {byte} of input {operand}"


def _origins(model: Graph, of: Op, byte: Ints) -> tuple[Ints, Ints]:
    element, within = np.divmod(byte, ITEM_BYTES[model.tensors[of.outputs[0]].dtype])
    operand, source = origins(model, of, element)
    read, fixed = _operands(model, of), _fixed(model, of)
    sizes = [model.tensors[of.inputs[k]].elements for k in fixed]
    number, ahead = np.full((2, len(of.inputs) + 1), PADDING)
    number[read], ahead[read] = np.arange(len(read)), 0
    number[fixed], ahead[fixed] = len(read), np.cumsum([0, *sizes])[:-1]
    return number[operand], (source + ahead[operand]) * ITEM_BYTES[model.tensors[of.inputs[0]].dtype] + within


def copied(op: RowOp, who: str) -> Iterator[_Copied]:
    """Yield the source from which the C function tmo_copy_s8() copies each output byte. Raise PlanError if a move
    reads or writes bytes outside a row.
    """
    _check_bounds(op, who)
    if op.scatters:
        yield _gathered(op, who)
        return
    size = op.writes.row_bytes
    step = max(1, CHUNK // size)
    for top in range(0, op.writes.h, step):
        y = np.arange(top, min(top + step, op.writes.h))
        operand, byte = (np.full((len(y), size), PADDING, np.int32) for _ in range(2))
        for move in op.moves.moves if op.moves else ():
            rows, access = op.operands[move.operand], op.access[move.operand]
            row = first_row(access, y, rows.h) + move.tap
            there = np.flatnonzero((row >= 0) & (row < rows.h) & (move.tap < access.extent))
            source = _runs(move.source, move.source_step, move) + _phase(move, y[there])[:, None]
            target = _runs(move.target, move.target_step, move)
            operand[there[:, None], target] = move.operand
            byte[there[:, None], target] = row[there][:, None] * rows.row_bytes + source
        yield top * size, operand.ravel(), byte.ravel()


def _gathered(op: RowOp, who: str) -> _Copied:
    """For an operator with a single output row, return which input byte is copied to each output byte."""
    rows = op.reads[0]
    target = np.full((rows.h, rows.row_bytes), PADDING)
    for move in op.moves.moves if op.moves else ():
        phase = _phase(move, np.arange(rows.h))[:, None]
        target[:, _runs(move.source, move.source_step, move)] = _runs(move.target, move.target_step, move) + phase
    source = np.full(op.writes.nbytes, PADDING, np.int32)
    source[target.ravel()] = np.arange(target.size)
    if target.size != source.size or target.min() < 0 or source.min() < 0:
        raise PlanError(f"{who}: its rows do not fill the output")
    return 0, np.zeros_like(source), source


def _runs(first: int, step: int, move: Move) -> Ints:
    runs = first + np.arange(move.count)[:, None] * step + np.arange(move.nbytes)
    return runs.ravel()


def _phase(move: Move, y: Ints) -> Ints:
    return (y + move.shift) % move.period * move.phase_step
