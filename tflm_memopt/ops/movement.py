"""Turns operators that only move data into RowOps. Each function applies an operator to an array of element indices
(moves.py). If the operands of an operator contradict each other, NumPy fails or the result has a wrong size.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.format.limits import MAX_INPUTS, MAX_KERNEL_H
from tflm_memopt.model.graph import ITEM_BYTES, VIEW, Graph, Tensor, TensorId
from tflm_memopt.ops.context import EVERY_OPERAND, PIECE, STEPS, OperatorContext, any_rows, byte_shape
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.moves import FILL, Indices, Irregular, by_rows, in_bytes, numbered, scattered
from tflm_memopt.ops.rowop import Access, Constant, Move, Moves, RowOp, Rows, StateRollingBuffer

Transform = Callable[[OperatorContext, Sequence[Indices]], Indices]
"""A function of this type maps the element indices of an operator's inputs to the element indices of its output."""


def moved(context: OperatorContext, transform: Transform) -> RowOp:
    """Parse an operator as a COPY, and join all constant operands into its last operand. Raises Irregular."""
    fixed = [k for k in range(len(context.op.inputs)) if k not in context.read and context.op.type in EVERY_OPERAND]
    constant = _constants(context, fixed)
    reads = tuple(context.producer_rows(k) for k in context.read)
    operands = (*reads, constant.rows) if constant else reads
    try:
        order = (*context.read, *fixed)
        numbers = dict(zip(order, numbered([context.input(k).shape for k in order]), strict=True))
        index = _in_steps(context, transform, [numbers[k] for k in sorted(order)])
        index = in_bytes(index, ITEM_BYTES[context.output.dtype])
        fill = pad_value(context) if (index == FILL).any() else None
    except (ValueError, IndexError) as cause:
        raise Irregular(f"its operands and shapes do not fit ({cause})") from cause
    writes = any_rows(byte_shape(context.output), sum(rows.h for rows in reads))
    form = _by_input_rows(index, operands, writes) if ends(context.graph, context.output.id) else None
    writes, access, moves = form or _by_output_rows(index, operands, writes, fill)
    times = len(access) // len(operands)
    stored = tuple(context.storage(k) for k in context.read) * times
    copy = _copy(
        context.op.type, context.op.stands_for, stored, context.output.id, reads * times, writes, access, moves
    )
    return replace(copy, constant=constant, input_zero_points=(0,) * len(access))


def _constants(context: OperatorContext, fixed: Sequence[int]) -> Constant | None:
    if not fixed:
        return None
    values = b"".join(_stored(context.input(k)) for k in fixed)
    return Constant(len(context.read), Rows(1, 1, len(values)), np.frombuffer(values, np.int8).reshape(1, 1, -1))


def _stored(tensor: Tensor) -> bytes:
    if tensor.data is None:
        raise Irregular(f"the values of tensor {tensor.id} are unknown")
    return tensor.data.astype(tensor.data.dtype.newbyteorder("<")).tobytes()


_Form = tuple[Rows, tuple[Access, ...], Moves]


def _by_output_rows(index: Indices, reads: tuple[Rows, ...], writes: Rows, fill: int | None) -> _Form:
    """Return a COPY. If possible, each iteration of the COPY makes one output row. Raises Irregular."""
    try:
        access, moves = by_rows(index, reads, writes, fill)
        if sum(a.extent for a in access) <= MAX_KERNEL_H:
            return writes, access, moves
    except Irregular:
        pass
    row = Rows(1, writes.h * writes.w, writes.c)
    form = _by_distant_rows(index, reads, writes, fill) or _by_input_rows(index, reads, writes, whole=False)
    return form or (row, *by_rows(index, reads, row, fill))


def _by_distant_rows(index: Indices, reads: tuple[Rows, ...], writes: Rows, fill: int | None) -> _Form | None:
    """Return a COPY that reads the only input as several operands, one for each range of adjacent rows, or None if
    impossible. For example, a TRANSPOSE after attention reads a row of each attention head.
    """
    index = index.reshape(writes.h, writes.row_bytes)
    row = index[0] // reads[0].row_bytes
    used = np.unique(row[index[0] != FILL])
    firsts = used[np.diff(used, prepend=-2) > 1]
    if len(reads) > 1 or not 1 < len(firsts) <= MAX_INPUTS:
        return None
    operand = (np.searchsorted(firsts, row, side="right") - 1).astype(np.int32)
    try:
        access, moves = by_rows(
            np.where(index == FILL, FILL, index + operand * reads[0].nbytes), reads * len(firsts), writes, fill
        )
    except Irregular:
        return None
    return (writes, access, moves) if sum(a.extent for a in access) <= MAX_KERNEL_H else None


def _by_input_rows(index: Indices, reads: tuple[Rows, ...], writes: Rows, *, whole: bool = True) -> _Form | None:
    """Return a COPY for a single output row, in which each iteration moves one input row to its places, or None if
    impossible. If `whole` is true, the last input row must be needed for the first output row.
    """
    if len(reads) > 1 or reads[0].h == 1:
        return None
    first = index.reshape(writes.h, -1)[0]
    if whole and first.max() < (reads[0].h - 1) * reads[0].row_bytes:
        return None
    try:
        moves = scattered(index, reads[0])
    except Irregular:
        return None
    return Rows(1, writes.h * writes.w, writes.c), (Access(0, 0, 1, reads[0].h),), moves


def ends(graph: Graph, tensor: TensorId) -> bool:
    """Return whether only views and element-wise operators separate a tensor from the outputs of the model."""
    if tensor in graph.outputs:
        return True
    readers = graph.consumers(tensor)
    return bool(readers) and all(op.type in _WHOLE and ends(graph, op.outputs[0]) for op in readers)


_WHOLE = frozenset({"DEQUANTIZE", "LOGISTIC", "QUANTIZE", "RELU", "RELU6", "TANH", VIEW})


def state_copy(context: OperatorContext, state: TensorId, fill: int) -> RowOp:
    """Return a WRITE_STATE that replaces the oldest rows of a state by all rows of a tensor."""
    rows = context.producer_rows()
    kept = replace(rows, h=context.graph.tensors[state].nbytes // rows.row_bytes)
    buffer = StateRollingBuffer(state, kept, fill)
    return copy_to_state(context.op.stands_for, context.storage(), rows, buffer, context.output.id)


def copy_to_state(
    sources: tuple[int, ...], tensor: TensorId, rows: Rows, rolling_buffer: StateRollingBuffer, token: TensorId
) -> RowOp:
    """Return a WRITE_STATE that copies a tensor into a state. If the state has fewer rows than the tensor, the last
    rows are copied.
    """
    count = min(rows.h, rolling_buffer.rows.h)
    access, moves = Access(rows.h - count), Moves((Move(0, 0, 0, 0, rows.row_bytes),))
    made = _copy("ASSIGN_VARIABLE", sources, (tensor,), token, (rows,), Rows(count, rows.w, 0), (access,), moves)
    return replace(made, state_write=rolling_buffer)


def after(writer: RowOp, tensors: Mapping[TensorId, Rows]) -> RowOp:
    """Return `writer` with additional inputs `tensors`, which it does not use, so that it runs after the tensors are
    complete.
    """
    found = len(tensors)
    return replace(
        writer,
        inputs=(*writer.inputs, *tensors),
        reads=(*writer.reads, *tensors.values()),
        input_zero_points=(*writer.input_zero_points, *[0] * found),
        access=(*writer.access, *(Access(rows.h - 1, 0) for rows in tensors.values())),
    )


def without_waiting(op: RowOp) -> RowOp:
    """Return an operator without the inputs that the function after() adds to a WRITE_STATE."""
    if not op.state_write:
        return op
    first = slice(1)
    zeros = op.input_zero_points[first]
    return replace(op, inputs=op.inputs[first], reads=op.reads[first], input_zero_points=zeros, access=op.access[first])


def one_below_the_other(
    name: str,
    sources: tuple[int, ...],
    inputs: tuple[TensorId, ...],
    output: TensorId,
    reads: tuple[Rows, ...],
    taken: slice = slice(None),
) -> RowOp:
    """Return a COPY operator that joins the rows of several tensors. The slice `taken` selects joined rows."""
    index = np.concatenate(numbered([(rows.h, rows.w, rows.c) for rows in reads]), axis=0)[taken]
    return _picked(name, sources, inputs, output, reads, index)


def lower_bytes(context: OperatorContext, item: int, kept: int) -> RowOp:
    """Return a COPY of the first `kept` bytes of each element, which has `item` bytes."""
    op, reads = context.op, context.producer_rows()
    index = np.arange(reads.nbytes, dtype=np.int32).reshape(-1, item)[:, :kept].reshape(reads.h, reads.w, -1)
    return _picked(op.type, op.stands_for, (context.storage(),), context.output.id, (reads,), index)


def unmoved(sources: tuple[int, ...], tensor: TensorId, rows: Rows, output: TensorId) -> RowOp:
    """Return a max pool of one pixel, which copies rows unchanged. A max pool can read rows of a state, and a COPY
    cannot.
    """
    return RowOp(Kind.MAX_POOL, "MAX_POOL_2D", sources, (tensor,), output, (rows,), rows, (0,), 0)


def cut(sources: tuple[int, ...], tensor: TensorId, rows: Rows, first: int, count: int, output: TensorId) -> RowOp:
    index = np.arange(rows.nbytes, dtype=np.int32).reshape(rows.h, rows.w, rows.c)[..., first : first + count]
    return _picked("SPLIT", sources, (tensor,), output, (rows,), index)


def _picked(
    name: str,
    sources: tuple[int, ...],
    inputs: tuple[TensorId, ...],
    output: TensorId,
    reads: tuple[Rows, ...],
    index: Indices,
) -> RowOp:
    """The argument `index` has the output's shape and, for each output byte, the index of the input byte."""
    writes = Rows(*index.shape)
    return _copy(name, sources, inputs, output, reads, writes, *by_rows(index, reads, writes))


def _copy(
    name: str,
    sources: tuple[int, ...],
    inputs: tuple[TensorId, ...],
    output: TensorId,
    reads: tuple[Rows, ...],
    writes: Rows,
    access: tuple[Access, ...],
    moves: Moves,
) -> RowOp:
    zeros = (0,) * len(inputs)
    return RowOp(Kind.COPY, name, sources, inputs, output, reads, writes, zeros, 0, access=access, moves=moves)


def _in_steps(context: OperatorContext, transform: Transform, x: Sequence[Indices]) -> Indices:
    if STEPS not in context.op.options:
        return _shaped(context, transform(context, x))
    (index,) = x
    for op in context.op.options[STEPS]:
        step = OperatorContext(context.graph, op)
        made = _shaped(step, STEP[op.type](step, [index])) if op.type in STEP else index
        index = made.reshape(step.output.shape)
    return index


def _shaped(context: OperatorContext, index: Indices) -> Indices:
    if index.shape != context.output.shape:
        raise Irregular(f"it makes {list(index.shape)}, its output has shape {list(context.output.shape)}")
    return index


def pad_value(context: OperatorContext) -> int:
    """Return the padding byte: the zero point of PAD's output, or the value of an operand (micro/kernels/pad.cc)."""
    pad_, *_ = context.op.options.get(STEPS, (context.op,))
    operand, q = context.tensor(2), context.graph.tensors[pad_.outputs[0]].quantization
    value = int(_data(operand).flatten()[0]) if operand is not None else q.zero_point[0] if q else 0
    stored = np.array([value]).astype(f"<{np.dtype(context.output.dtype.lower()).str[1:]}")
    different: set[int] = set(stored.view(np.int8).tolist())
    if stored[0] != value or len(different) > 1:
        raise ValueError(f"it pads with {value}")
    return different.pop()


def pad(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    return np.pad(x[0], _pairs(context), constant_values=FILL)


def mirror_pad(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    reflect = context.op.options["mode"] == 0
    amounts = _pairs(context)
    if any(max(pair) > d - reflect for d, pair in zip(x[0].shape, amounts, strict=True)):
        raise ValueError("it mirrors more than there is")
    return np.pad(x[0], amounts, mode="reflect" if reflect else "symmetric")


def concatenation(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    return np.concatenate(x, int(context.op.options["axis"]))


def pack(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    axis, count = (int(context.op.options[n]) for n in ("axis", "valuesCount"))
    if count != len(x):
        raise ValueError(f"{count} values, {len(x)} inputs")
    return np.stack(x, axis)


def piece(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    axis, begin, end = context.op.options[PIECE]
    which = begin if context.op.type == "UNPACK" else slice(begin, end)
    result: Indices = x[0][(slice(None),) * axis + (which,)]
    return result


def slice_(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    begin, size = (_ints(context, k) for k in (1, 2))
    return x[0][tuple(slice(b, None if s == -1 else b + s) for b, s in zip(begin, size, strict=True))]


def strided_slice(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    """Return the elements that STRIDED_SLICE takes (kernels/internal/strided_slice_logic.h)."""
    options = context.op.options
    chosen, shrunk = [], []
    for axis, (size, begin, end, stride) in enumerate(
        zip(x[0].shape, _ints(context, 1), _ints(context, 2), _ints(context, 3), strict=True)
    ):
        bit = 1 << axis
        start = _bound(begin, size, stride, 0 if stride > 0 else size - 1, bool(options["beginMask"] & bit))
        stop = _bound(end, size, stride, size if stride > 0 else -1, bool(options["endMask"] & bit))
        if options["shrinkAxisMask"] & bit:
            if stride < 0 or start >= size:
                raise ValueError("it keeps an index that is not there")
            shrunk.append(axis)
            stop = start + 1
        chosen.append(np.arange(start, stop, stride))
    result: Indices = x[0][np.ix_(*chosen)].squeeze(tuple(shrunk))
    return result


def _bound(stated: int, size: int, stride: int, default: int, masked: bool) -> int:
    if masked:
        return default
    low, high = (0, size) if stride > 0 else (-1, size - 1)
    return min(max(stated + size if stated < 0 else stated, low), high)


def depth_to_space(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    n, h, w, c = x[0].shape
    b = int(context.op.options["blockSize"])
    blocks = x[0].reshape(n, h, w, b, b, c // (b * b))
    return np.reshape(blocks.transpose(0, 1, 3, 2, 4, 5), (n, h * b, w * b, c // (b * b)))


def space_to_depth(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    n, h, w, c = x[0].shape
    b = int(context.op.options["blockSize"])
    blocks = x[0].reshape(n, h // b, b, w // b, b, c)
    return np.reshape(blocks.transpose(0, 1, 3, 2, 4, 5), (n, h // b, w // b, b * b * c))


def transpose(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    return np.transpose(x[0], _ints(context, 1))


def broadcast_to(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    return np.broadcast_to(x[0], context.output.shape)


def tile(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    return np.tile(x[0], _ints(context, 1))


def reverse(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    """Reverse adjacent axes, because TFLM supports no other axes (kernels/internal/reference/reverse.h)."""
    axes = sorted(axis % x[0].ndim for axis in _ints(context, 1))
    if axes != list(range(axes[0], axes[0] + len(axes))):
        raise ValueError(f"it reverses axes {axes}")
    return np.flip(x[0], tuple(axes))


def resize_nearest(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    (_, h, w, _), (_, h_out, w_out, _) = x[0].shape, context.output.shape
    rows, columns = (_nearest(context, *sizes) for sizes in ((h, h_out), (w, w_out)))
    return x[0][:, rows][:, :, columns]


def _nearest(context: OperatorContext, size: int, output: int) -> NDArray[np.int64]:
    """Return input positions, computed in float32 (GetNearestNeighbor, reference/resize_nearest_neighbor.h)."""
    corners = bool(context.op.options["alignCorners"])
    half = np.float32(0.5 if context.op.options["halfPixelCenters"] else 0)
    less = int(corners and output > 1)
    scale = np.float32(size - less) / np.float32(output - less)
    at = (np.arange(output, dtype=np.float32) + half) * scale
    nearest = np.floor(at.astype(np.float64) + 0.5) if corners else np.floor(at)
    result: NDArray[np.int64] = np.clip(nearest.astype(np.int64), 0, size - 1)
    return result


def gather(context: OperatorContext, x: Sequence[Indices]) -> Indices:
    axis, size, at = int(context.op.options["axis"]), x[0].shape, _data(context.tensor(1))
    if context.op.options.get("batchDims", 0) or at.min(initial=0) < 0 or at.max(initial=0) >= size[axis]:
        raise ValueError(f"it selects {at.min()} to {at.max()} of {size[axis]}, or has batch dimensions")
    return np.take(x[0], at, axis)


STEP: Mapping[str, Transform] = {
    "PAD": pad,
    "TILE": tile,
    "BROADCAST_TO": broadcast_to,
    "TRANSPOSE": transpose,
    "SLICE": slice_,
    "STRIDED_SLICE": strided_slice,
    "GATHER": gather,
}
"""Operators that only move data. One COPY can replace a chain of listed operators that contains no PAD."""


def _data(tensor: Tensor | None) -> NDArray[np.int64]:
    if tensor is None or tensor.data is None:
        raise ValueError("an operand is not constant")
    return tensor.data.astype(np.int64)


def _ints(context: OperatorContext, k: int) -> list[int]:
    return [int(v) for v in _data(context.tensor(k)).flatten()]


def _pairs(context: OperatorContext) -> list[tuple[int, int]]:
    flat = _ints(context, 1)
    if min(flat, default=0) < 0:
        raise ValueError("a negative padding")
    return list(zip(flat[::2], flat[1::2], strict=True))
