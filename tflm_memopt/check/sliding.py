"""Proves that a model with a sliding input computes the rows that the original model computes from the whole input.

The proof gives each row of each tensor a number. Two computed rows get the same number only if their operators are
equal and their input rows have the same numbers. A copy of a row has the number of the original row. The rows of the
input are numbered in the order of their arrival. In the first inference that produces an output, each computed row must
have the number of a row that the original model computes. Each output row must have the same number as the row that the
original model outputs.

The replay of states (states.py) proves that operators find the kept rows in a state.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflm_memopt.check.arena import Ints
from tflm_memopt.check.movements import PADDING
from tflm_memopt.check.reads import copied
from tflm_memopt.check.windows import first_row
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.ops.rowop import UNIT, RowOp, Rows
from tflm_memopt.rowgraph.graph import RowGraph

UNWRITTEN = -2
"""Identifies each row that was not written since the reset."""
COMPUTED = 1 << 40
"""Number that identifies the first computed row, above the numbers of all input rows."""
MEANS = ("MEAN", "AVERAGE_POOL", "SLIDING_SUM")
"""Kernels with exact sums, whose results do not depend on the order of the rows in a window."""

_Known = dict[tuple[Hashable, bytes], int]
"""Maps an operator, and the numbers that identify its input rows, to the number that identifies the computed row."""


def check_sliding(graph: RowGraph) -> None:
    """Raise PlanError if a computed row differs from all rows that TFLM's operator computes from the whole input."""
    if graph.window is None:
        raise ValueError("the input does not slide")
    rows, new, count = graph.window.rows, graph.window.new, graph.window.inferences
    (tensor,), known = graph.model.inputs, _Known()
    arrived = np.arange(count * new)
    expected = _Numbering(graph.window.whole, tensor, arrived[None, -rows:], known).tensors
    found = _Numbering(graph, tensor, arrived.reshape(count, new), known).tensors
    for of in (of for of in graph.model.ops if of.index in graph.ops):
        made = graph.ops[of.index].output
        wrong = ~np.isin(found[made][-1], expected[made]) if made in found and made in expected else np.zeros(1)
        if wrong.any():
            raise PlanError(f"operator {of.number} {of.kind}: row {wrong.argmax()} is no row of TFLM's output")
    for t in {*graph.model.outputs}.union(*(node.inputs for node in graph.builtins)) & expected.keys():
        if t not in found or not np.array_equal(found[t][-1:], expected[t]):
            raise PlanError(f"tensor '{graph.model.tensors[t].label}' has other rows than in TFLM")


class _Numbering:
    """Gives each row of the last inferences a number, in an array of shape (inferences, rows) for each tensor."""

    def __init__(self, graph: RowGraph, tensor: TensorId, arrived: Ints, known: _Known) -> None:
        self._known, self.tensors = known, {tensor: arrived}
        self._row_bytes = {tensor: graph.model.tensors[tensor].nbytes // arrived.shape[1]}
        self._keepers = {op.state_write.tensor: op for op in graph.ops.values() if op.state_write}
        ops = [op for of in graph.model.ops if (op := graph.ops.get(of.index)) and not op.leaves]
        needed = self._needed(ops, len(arrived))
        for op in ops:
            self._inferences = needed[op.output]
            self.tensors[op.output] = self._copied(op) if op.moves else self._computed(op)
            self._row_bytes[op.output] = op.writes.row_bytes

    def _needed(self, ops: Sequence[RowOp], most: int) -> Mapping[TensorId, int]:
        """Return for each tensor the number of inferences whose rows the last output needs."""
        needed: dict[TensorId, int] = defaultdict(lambda: 1)
        for op in reversed(ops):
            for t in (*op.inputs, *([] if op.older is None else [op.older])):
                source, last, keeper = t, needed[op.output], self._keepers.get(t)
                if keeper and keeper.state_write:
                    source, last = keeper.inputs[0], last + -(-keeper.state_write.rows.h // keeper.reads[0].h)
                needed[source] = max(needed[source], min(last, most))
        return needed

    def _computed(self, op: RowOp) -> Ints:
        w, kind = op.window, None if op.kind.name in MEANS else op.kind
        columns = w.kernel_w, w.stride_w, w.dilation_w, w.pad_left
        own = op.name, op.sources, kind, op.activation, op.reads[0].w, op.writes.w, *columns
        if op.traits.runs_along:  # check_sums() proves that the sums contain all rows.
            read = np.concatenate(self._operands(op)[:-1], axis=1)[:, None]
        else:
            taps = [self._taps(op, k, rows) for k, rows in enumerate(self._operands(op))]
            if any(a.table or (a.mul, a.div, a.extent) != (1, 1, 1) for a in op.access):
                # As in RESIZE_BILINEAR, the values of a row may depend on the row's index.
                taps.append(np.tile(np.arange(op.writes.h)[:, None], (self._inferences, 1, 1)))
            read = np.concatenate(taps, axis=2)
        if op.kind.name == "MAX_POOL" and replace(w, pad_top=0) == UNIT and op.activation == (-128, 127):
            return read[..., 0]
        return self._numbered(own, read if kind else np.sort(read))

    def _taps(self, op: RowOp, k: int, numbers: Ints) -> Ints:
        """For each output row, return the numbers that identify the needed rows of the operand."""
        y, w, above, height = np.arange(op.writes.h)[:, None], op.window, 0, numbers.shape[1]
        if op.access:
            rows = first_row(op.access[k], y, height) + np.arange(op.access[k].extent)
        elif op.has_window:
            rows = y * w.stride_h - w.pad_top + np.arange(w.kernel_h) * w.dilation_h
        else:
            rows = np.minimum(y, height - 1)
        if k == 0 and op.older is not None:
            kept = self._kept(op.older)
            above, numbers = kept.shape[1], np.concatenate([kept, numbers], axis=1)
        there = (rows >= -above) & (rows < height)
        return np.where(there, numbers[:, np.where(there, rows + above, 0)], PADDING)

    def _copied(self, op: RowOp) -> Ints:
        """An output row that is a copy of an input row gets the number of the input row."""
        numbers, sizes = self._operands(op), np.array([*(rows.row_bytes for rows in op.operands), 1])
        padding, made = np.full(self._inferences, PADDING), list[Ints]()
        for _, *block in copied(op, op.name):
            for operand, byte in zip(*(part.reshape(-1, op.writes.row_bytes) for part in block), strict=True):
                row, at = np.divmod(byte.astype(np.int64), sizes[operand])
                places, source = np.unique((operand.astype(np.int64) << 32) + row, return_inverse=True)
                taps = [numbers[p >> 32][:, p & 0xFFFFFFFF] if p >= 0 else padding for p in places.tolist()]
                read = np.stack(taps, axis=1)[:, None]
                whole = len(taps) == 1 and np.array_equal(at, np.arange(sizes[operand[0]]))
                own = op.moves and op.moves.fill, source.tobytes(), at.tobytes()
                made.append(read[..., 0] if whole else self._numbered(own, read))
        return np.concatenate(made, axis=1)

    def _operands(self, op: RowOp) -> list[Ints]:
        found = [self._read(t, op.reads[k])[-self._inferences :] for k, t in enumerate(op.inputs)]
        if op.constant:
            found.insert(op.constant.position, self._constant((op.name, op.sources), op.constant.rows.h))
        return found

    def _read(self, tensor: TensorId, seen: Rows) -> Ints:
        """Return the number that identifies each row of an operand. An operand with other rows than the tensor gets new
        numbers.
        """
        if tensor in self._keepers:
            return self._kept(tensor)
        if tensor not in self.tensors:
            return self._constant((tensor, seen), seen.h)
        made, size = self.tensors[tensor], self._row_bytes[tensor]
        if made.shape[1] * size != seen.nbytes:
            raise PlanError(f"{seen.nbytes} bytes of tensor {tensor} are read, but it has {made.shape[1] * size}")
        if size == seen.row_bytes:
            return made
        spans = ((first, first + seen.row_bytes) for first in range(0, seen.nbytes, seen.row_bytes))
        parts = [((seen.row_bytes, a % size), made[:, None, a // size : -(-b // size)]) for a, b in spans]
        return np.concatenate([self._numbered(*part) for part in parts], axis=1)

    def _kept(self, state: TensorId) -> Ints:
        """Return the numbers of a state's rows at the beginning of each inference, oldest row first."""
        keeper = self._keepers[state]
        arrived, kept = self._read(keeper.inputs[0], keeper.reads[0]), keeper.state_write
        depth = kept.rows.h if kept else 0
        first = arrived.size - np.arange(self._inferences, 0, -1)[:, None] * arrived.shape[1]
        rows: Ints = np.append(np.full(depth, UNWRITTEN), arrived)[first + np.arange(depth)]
        return rows

    def _constant(self, own: Hashable, height: int) -> Ints:
        return self._numbered(own, np.tile(np.arange(height)[:, None], (self._inferences, 1, 1)))

    def _numbered(self, own: Hashable, read: Ints) -> Ints:
        """Give each computed row a number. Rows of an operator get the same number if their input rows are the same.
        For each computed row, the last axis of `read` lists the input rows by their numbers.
        """
        keys = (rows.tobytes() for rows in np.ascontiguousarray(read).reshape(-1, read.shape[-1]))
        numbers = [self._known.setdefault((own, key), COMPUTED + len(self._known)) for key in keys]
        return np.array(numbers, np.int64).reshape(read.shape[:-1])
