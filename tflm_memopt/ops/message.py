"""Defines SEND and RECEIVE, the custom operators that pass a tensor from one device to another device. The custom
options of SEND and RECEIVE are the bytes of the C struct `tmo_message`. The output of SEND and the input of RECEIVE are
empty tensors that stand for the link.
"""

import struct
from dataclasses import replace

from tflm_memopt.model.graph import Op, Tensor
from tflm_memopt.ops.context import OperatorContext, any_rows, byte_shape
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import Message, RowOp, Rows

SEND, RECEIVE = "TMO_SEND", "TMO_RECEIVE"
MOST_ROW_BYTES = 0xFFFF
"""Maximum number of bytes in a row of a tensor that one device sends to another device."""
_OPTIONS = struct.Struct("<IHBB")


def options(message: Message) -> bytes:
    """Return the custom options of the SEND and of the RECEIVE that pass a message.

    >>> options(Message(1, 2, 0, 1)).hex()
    '0100000002000001'
    """
    return _OPTIONS.pack(message.identity, message.step, message.sender, message.receiver)


def message_of(op: Op) -> Message | None:
    """Return the message that an operator of a model sends or receives, or None for any other operator."""
    said = op.options.get("custom_options", b"")
    known = op.options.get("custom_code") in (SEND, RECEIVE) and len(op.inputs) == len(op.outputs) == 1
    return Message(*_OPTIONS.unpack(said)) if known and len(said) == _OPTIONS.size else None


def rows_of(tensor: Tensor) -> Rows:
    """Return the number and the size of the rows in which a tensor is sent. A tensor of height 1 is sent as one row.

    >>> rows_of(Tensor(0, "x", (1, 1, 4, 8), "INT8")), rows_of(Tensor(0, "x", (1, 8), "INT8"))
    (Rows(h=1, w=4, c=8), Rows(h=1, w=1, c=8))
    """
    shape = byte_shape(tensor)
    return Rows(*shape[1:]) if len(shape) == 4 and shape[0] == 1 else any_rows(shape)


def message_op(context: OperatorContext) -> RowOp | None:
    """Return a SEND or RECEIVE as a RowOp, or None for another operator or a tensor with too long rows."""
    message = message_of(context.op)
    if message is None:
        return None
    sends = context.op.options["custom_code"] == SEND
    rows = rows_of(context.input() if sends else context.output)
    if rows.row_bytes > MOST_ROW_BYTES:
        return None
    kind, writes = (Kind.SEND, Rows(rows.h, rows.w, 0)) if sends else (Kind.RECEIVE, rows)
    op = context.row_op(kind, reads=(rows,), writes=writes, message=message)
    return replace(op, name=context.op.options["custom_code"])
