"""Constraints on operators that move, select or resize data."""

from tflm_memopt.ops.constraints.base import FREEZE, Constraint, activations, hint, name
from tflm_memopt.ops.constraints.limits import MAX_DIMENSION
from tflm_memopt.ops.context import ONE_PIXEL, PIECE, OperatorContext, natural_rows

MAX_MOVED = 1 << 24
"""An operator may move at most this many bytes, because the parser gives a number to each of them."""


def constant_operands(*which: int) -> Constraint:
    def constant_operands(context: OperatorContext) -> str | None:
        """Operands that configure the operator must be integer constants"""
        for k in which:
            t = context.tensor(k)
            if t is not None and (t.data is None or t.data.dtype.kind != "i"):
                return f"{name(t)} is {'computed at run time' if t.data is None else t.dtype}"
        return None

    return hint(FREEZE)(constant_operands)


@hint("use smaller tensors: crop or resize the input first")
def movable(context: OperatorContext) -> str | None:
    """An operator may move at most 16,777,216 bytes"""
    most = max(t.nbytes for t in activations(context))
    return None if most <= MAX_MOVED else f"{most:,} bytes"


@hint("move along fewer dimensions at once: replace this operator by two simpler ones")
def regular_moves(context: OperatorContext) -> str | None:
    """The operator must make every row of its output in the same way, from at most 64 rows and 256 runs of bytes"""
    return None  # the parser checks this constraint, and raises moves.Irregular


@hint("give constant sizes and axis, as in tf.split(x, [3, 5], axis=-1)")
def one_piece(context: OperatorContext) -> str | None:
    """A SPLIT, SPLIT_V or UNPACK must be along a constant axis, into parts of constant sizes"""
    return None if PIECE in context.op.options else "its axis or sizes are not constant"


@hint("use x[:, 2:4, :] and a reshape instead of newaxis and ellipsis")
def plain_slice(context: OperatorContext) -> str | None:
    """STRIDED_SLICE must have no ellipsis, no new axis and no offset"""
    used = [n for n in ("ellipsisMask", "newAxisMask", "offset") if context.op.options.get(n)]
    return f"it has {', '.join(used)}" if used else None


def block_divides(context: OperatorContext) -> str | None:
    """The block size must divide the dimensions, and the output shape must match it"""
    b = int(context.op.options["blockSize"])
    deep, wide = (
        s.shape for s in (context.input(), context.output)[:: 1 if context.op.type == "DEPTH_TO_SPACE" else -1]
    )
    fits = b > 0 and wide == (deep[0], deep[1] * b, deep[2] * b, deep[3] // (b * b)) and deep[3] % (b * b) == 0
    return None if fits else f"block size {b}, {list(context.input().shape)} to {list(context.output.shape)}"


@hint("set only one of align_corners and half_pixel_centers, and use images of [1, height, width, channels]")
def resized_channels(context: OperatorContext) -> str | None:
    """A resized image must have four dimensions and keep its channels, and align_corners excludes half_pixel_centers"""
    a, b, options = context.input().shape, context.output.shape, context.op.options
    if len(a) != 4 or len(b) != 4 or a[0] != b[0] or a[3] != b[3]:
        return f"{list(a)} to {list(b)}"
    return "both are set" if options["alignCorners"] and options["halfPixelCenters"] else None


def resized_as_said(context: OperatorContext) -> str | None:
    """A resized image must have the size given by the size operand"""
    size, shape = context.tensor(1), list(context.output.shape)
    said = [] if size is None or size.data is None else size.data.flatten().tolist()
    return None if said == shape[1:3] else f"{said}, output {shape}"


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


@hint("use int32 indices")
def indices(context: OperatorContext) -> str | None:
    """The indices of GATHER must be int32"""
    positions = context.input(1)
    return None if positions.dtype == "INT32" else f"{name(positions)} is {positions.dtype}"


@hint("gather along the first axis of a constant matrix")
def table(context: OperatorContext) -> str | None:
    """GATHER must take rows of a constant int8 or float32 matrix"""
    source, axis, batch = context.input(), context.op.options["axis"], context.op.options.get("batchDims", 0)
    fits = source.dtype in ("INT8", "FLOAT32") and len(source.shape) == 2 and source.elements
    if source.data is None or not fits:
        return f"{name(source)} is {source.dtype} {list(source.shape)}, {'constant' if source.constant else 'computed'}"
    return None if axis in (0, -2) and not batch else f"axis {axis}, {batch} batch dimensions"


@hint("convert with batch size 1")
def gathered(context: OperatorContext) -> str | None:
    """The output of GATHER must have the table's type, batch size 1, and a row of the table for each index"""
    positions, out, (_, channels) = context.input(1), context.output, context.input().shape
    rows = natural_rows(out.shape)
    if out.dtype == context.input().dtype and out.shape == (*positions.shape, channels) and rows and rows.c == channels:
        return None
    return f"{list(positions.shape)} indices, rows of {channels}, output {out.dtype} {list(out.shape)}"


@hint("use int32 indices")
def selected(context: OperatorContext) -> str | None:
    """GATHER and GATHER_ND must select from int8 or float32 values by int32 indices"""
    source, positions, out = context.input(0), context.input(1), context.output
    fits = source.dtype == out.dtype and source.dtype in ("INT8", "FLOAT32") and positions.dtype == "INT32"
    return None if fits else f"{out.dtype} from {source.dtype} by {positions.dtype}"


def selection(context: OperatorContext) -> str | None:
    """GATHER_ND must index the first dimensions of its operand, and the output must have the shape of the selected
    parts
    """
    source, positions, out = context.input(0).shape, context.input(1).shape, context.output.shape
    depth = positions[-1]
    if 1 <= depth <= len(source) and out == (*positions[:-1], *source[depth:]):
        return None
    return f"{list(positions)} indices of {list(source)}, output {list(out)}"


@hint("gather along the first axis")
def leading_axis(context: OperatorContext) -> str | None:
    """GATHER from a computed tensor must select along its first axis"""
    axis, batch = int(context.op.options.get("axis", 0)), context.op.options.get("batchDims", 0)
    source, positions, out = context.input(0).shape, context.input(1).shape, context.output.shape
    if axis in (0, -len(source)) and not batch and out == (*positions, *source[1:]):
        return None
    return f"axis {axis}, {batch} batch dimensions, {list(positions)} indices of {list(source)}, output {list(out)}"
