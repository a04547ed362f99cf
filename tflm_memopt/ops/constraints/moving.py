"""Constraints on operators that move, select or resize data."""

from tflm_memopt.ops.constraints.base import FREEZE, Constraint, activations, hint, name
from tflm_memopt.ops.constraints.limits import MAX_DIMENSION
from tflm_memopt.ops.context import ONE_PIXEL, PIECE, OperatorContext, natural_rows

MAX_MOVED = 1 << 24
"""Maximum number of bytes that an operator moves, because the parser stores an index for each byte."""
VIEWED = ("INT8", "INT16", "INT32", "UINT8", "FLOAT32", "BOOL")
"""Types of tensors that may share their bytes with a view."""


def constant_operands(*which: int) -> Constraint:
    def constant_operands(context: OperatorContext) -> str | None:
        """Operands that configure the operator must be integer constants"""
        for k in which:
            t = context.tensor(k)
            if t is not None and (t.data is None or t.data.dtype.kind != "i"):
                return f"{name(t)} is {'computed at run time' if t.data is None else t.dtype}"
        return None

    return hint(FREEZE)(constant_operands)


@hint(FREEZE)
def plain_view(context: OperatorContext) -> str | None:
    """RESHAPE, SQUEEZE and EXPAND_DIMS must have a constant shape, and an input and output of one type and size,
    neither of which is a constant or a variable
    """
    for k in range(1, len(context.op.inputs)):
        t = context.tensor(k)
        if t is not None and not t.constant:
            return f"{name(t)} is computed at run time"
    x, y = context.input(), context.output
    if x.dtype != y.dtype or x.dtype not in VIEWED:
        return f"{x.dtype} to {y.dtype}"
    if x.elements != y.elements:
        return f"{list(x.shape)} to {list(y.shape)}"
    for t in (x, y):
        if t.dynamic or t.constant or t.variable:
            what = "a variable" if t.variable else "a constant" if t.constant else "of unknown size"
            return f"{name(t)} is {what}"
    return None


@hint("use smaller tensors: crop or resize the input first")
def movable(context: OperatorContext) -> str | None:
    """An operator may move at most 16,777,216 bytes"""
    most = max(t.nbytes for t in activations(context))
    return None if most <= MAX_MOVED else f"{most:,} bytes"


@hint("move along fewer dimensions at once: replace this operator by two simpler ones")
def regular_moves(context: OperatorContext) -> str | None:
    """Every output row must be copied from the input in the same way, from at most 64 rows and 256 runs of bytes"""
    return None  # the parser raises moves.Irregular


@hint("give constant sizes and axis, as in tf.split(x, [3, 5], axis=-1)")
def one_piece(context: OperatorContext) -> str | None:
    """A SPLIT, SPLIT_V or UNPACK must be along a constant axis, into parts of constant sizes"""
    return None if PIECE in context.op.options else "its axis or sizes are not constant"


@hint("use x[:, 2:4, :] and a reshape instead of newaxis and ellipsis")
def plain_slice(context: OperatorContext) -> str | None:
    """STRIDED_SLICE must have no ellipsis, no new axis and no offset"""
    used = [n for n in ("ellipsisMask", "newAxisMask", "offset") if context.op.options.get(n)]
    return f"it has {', '.join(used)}" if used else None


@hint("set only one of align_corners and half_pixel_centers")
def one_alignment(context: OperatorContext) -> str | None:
    """At most one of align_corners and half_pixel_centers may be set"""
    both = context.op.options["alignCorners"] and context.op.options["halfPixelCenters"]
    return "both are set" if both else None


@hint("resize in two steps, or shrink by pooling")
def resized_inside(context: OperatorContext) -> str | None:
    """A resized image must lie inside its source, and shrink at most 63-fold"""
    half = bool(context.op.options["halfPixelCenters"])
    for size, output, scale in zip(
        context.input().shape[1:3], context.output.shape[1:3], context.resize_scales(), strict=True
    ):
        last = (output - 1) * scale + (scale // 2 - ONE_PIXEL // 2 if half else 0)
        if scale > MAX_DIMENSION or last >= size * ONE_PIXEL:
            return f"{size} to {output} pixels"
    return None


@hint("gather along the first axis of a constant matrix")
def table(context: OperatorContext) -> str | None:
    """GATHER from a constant must take rows of a matrix"""
    source = context.input()
    return None if len(source.shape) == 2 and source.elements else f"{name(source)} has shape {list(source.shape)}"


@hint("convert with batch size 1")
def gathered(context: OperatorContext) -> str | None:
    """The output of GATHER must have batch size 1, and a row of the table for each index"""
    rows, channels, out = natural_rows(context.output.shape), context.input().shape[1], context.output.shape
    return None if rows and rows.c == channels else f"rows of {channels}, output {list(out)}"


@hint("use int32 indices")
def selected(context: OperatorContext) -> str | None:
    """GATHER and GATHER_ND must select from int8 or float32 values by int32 indices"""
    source, positions, out = context.input(0), context.input(1), context.output
    fits = source.dtype == out.dtype and source.dtype in ("INT8", "FLOAT32") and positions.dtype == "INT32"
    return None if fits else f"{out.dtype} from {source.dtype} by {positions.dtype}"


def selection(context: OperatorContext) -> str | None:
    """GATHER_ND must index the first dimensions of its operand"""
    source, positions = context.input(0).shape, context.input(1).shape
    return None if 1 <= positions[-1] <= len(source) else f"{list(positions)} indices of {list(source)}"


@hint("gather along the first axis")
def leading_axis(context: OperatorContext) -> str | None:
    """GATHER must select along its first axis"""
    axis, batch = int(context.op.options.get("axis", 0)), context.op.options.get("batchDims", 0)
    fits = axis in (0, -len(context.input().shape)) and not batch
    return None if fits else f"axis {axis}, {batch} batch dimensions"
