"""Parses SELECT_V2, whose operands may be broadcast or constant."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflm_memopt.format.codes import SelectForm
from tflm_memopt.model.graph import ITEM_BYTES
from tflm_memopt.ops.context import OperatorContext, broadcast_rows
from tflm_memopt.ops.elementwise import constant_rows
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Access, Constant, RowOp, Rows

OPERANDS = 3
BYTES_AT, FORM_BITS = 12, 4


def select(context: OperatorContext) -> RowOp:
    """Parse SELECT_V2. Two constant operands become one operand, whose rows alternate between the two."""
    items = [ITEM_BYTES[context.input(k).dtype] for k in range(OPERANDS)]
    rows, writes = _rows(context, items)
    fixed = [k for k in range(OPERANDS) if context.input(k).constant]
    read = [k for k in range(OPERANDS) if k not in fixed]
    order = [*read, *fixed]
    form = items[1] << BYTES_AT
    for k, own in enumerate(rows):
        one = SelectForm.ONE_COLUMN * (own.w == 1) | SelectForm.ONE_CHANNEL * (own.c == items[k])
        form |= (order.index(k) | one) << FORM_BITS * k
    constant = _constant(context, fixed, [rows[k] for k in fixed], len(read)) if fixed else None
    access = [Access(mul=int(rows[k].h > 1)) for k in read]
    if constant:
        access.append(Access(mul=len(fixed) * int(rows[fixed[0]].h > 1), extent=len(fixed)))
    return context.row_op(
        Kind.SELECT,
        operands=read,
        reads=tuple(rows[k] for k in read),
        writes=writes,
        input_zero_points=(0,) * len(access),
        access=tuple(access),
        constant=constant,
        param=form,
    )


def _rows(context: OperatorContext, items: Sequence[int]) -> tuple[list[Rows], Rows]:
    out, inputs = context.output.shape, [context.input(k) for k in range(OPERANDS)]
    if all(t.shape == out for t in inputs):
        k = next(k for k, t in enumerate(inputs) if not t.constant)
        made = context.producer_rows(k)
        every = [replace(made, c=made.c // items[k] * item) for item in items]
        return every, replace(made, c=made.c // items[k] * items[1])
    fixed = [t.shape for t in inputs if t.constant]
    shapes = [np.broadcast_shapes(*fixed) if t.constant else t.shape for t in inputs]
    views = (broadcast_rows(shape, out) for shape in (*shapes, out))
    *each, made = (replace(v, c=v.c * item) for v, item in zip(views, (*items, items[1]), strict=True))
    return each, made


def _constant(context: OperatorContext, fixed: Sequence[int], rows: Sequence[Rows], position: int) -> Constant:
    shape = np.broadcast_shapes(*(context.input(k).shape for k in fixed))
    values = [constant_rows(context.input(k), shape, own) for k, own in zip(fixed, rows, strict=True)]
    joined = np.stack(values, axis=1).reshape(-1, *values[0].shape[1:])
    return Constant(position, Rows(*joined.shape), joined)
