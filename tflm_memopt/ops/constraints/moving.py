"""Constraints of operators that move data, choose it or resize it."""

from __future__ import annotations

from tflm_memopt.ops.constraints.base import FREEZE, RECONVERT, Constraint, activations, hint, name
from tflm_memopt.ops.constraints.limits import MAX_DIMENSION
from tflm_memopt.ops.site import ONE_PIXEL, PIECE, Site, natural_rows

MAX_MOVED = 1 << 24
"""Bytes: how they move is found with an array of their numbers, for each part of a SPLIT."""
MAX_OPERANDS = 4
"""TMO_MAX_INPUTS."""


def constant_operands(*which: int) -> Constraint:
    def constant_operands(site: Site) -> str | None:
        """Operands that say what to do must be constants"""
        for k in which:
            t = site.tensor(k)
            if t is not None and (t.data is None or t.data.dtype.kind != "i"):
                return f"{name(t)} is {'computed at run time' if t.data is None else t.dtype}"
        return None

    return hint(FREEZE)(constant_operands)


@hint("smaller tensors: crop or resize the input before it")
def movable(site: Site) -> str | None:
    """At most 16,777,216 bytes may be moved"""
    most = max(t.nbytes for t in activations(site))
    return None if most <= MAX_MOVED else f"{most:,} bytes"


@hint("move along fewer dimensions at once: two simple operators in the place of this one")
def regular_moves(site: Site) -> str | None:
    """Every row of the output must be made in the same way, of at most 64 rows and 256 runs of bytes"""
    return None  # known when it is parsed: moves.Irregular


@hint("tf.split(x, [3, 5], axis=-1): sizes and axis written in the model")
def one_piece(site: Site) -> str | None:
    """It must be split along a constant axis, into parts of constant sizes"""
    return None if PIECE in site.op.options else "operands or shapes do not say so"


@hint("x[:, 2:4, :] with a reshape behind it, in the place of newaxis and ellipsis")
def plain_slice(site: Site) -> str | None:
    """It must have no ellipsis, no new axis and no offset"""
    used = [n for n in ("ellipsisMask", "newAxisMask", "offset") if site.op.options.get(n)]
    return f"it has {', '.join(used)}" if used else None


@hint(RECONVERT)
def block_divides(site: Site) -> str | None:
    """The block size must divide the dimensions, and the output have the shape that follows"""
    b = int(site.op.options["blockSize"])
    deep, wide = (s.shape for s in (site.input(), site.output)[:: 1 if site.op.type == "DEPTH_TO_SPACE" else -1])
    fits = b > 0 and wide == (deep[0], deep[1] * b, deep[2] * b, deep[3] // (b * b)) and deep[3] % (b * b) == 0
    return None if fits else f"block size {b}, {list(site.input().shape)} to {list(site.output.shape)}"


@hint("align_corners or half_pixel_centers, not both; images of [1, height, width, channels]")
def resized_channels(site: Site) -> str | None:
    """A resized image must keep its channels, in four dimensions; align_corners excludes half_pixel_centers"""
    a, b, options = site.input().shape, site.output.shape, site.op.options
    if len(a) != 4 or len(b) != 4 or a[0] != b[0] or a[3] != b[3]:
        return f"{list(a)} to {list(b)}"
    return "both are set" if options["alignCorners"] and options["halfPixelCenters"] else None


@hint(RECONVERT)
def resized_as_said(site: Site) -> str | None:
    """A resized image must have the size that the operand says"""
    size, shape = site.tensor(1), list(site.output.shape)
    said = [] if size is None or size.data is None else size.data.flatten().tolist()
    return None if said == shape[1:3] else f"{said}, output {shape}"


@hint("resize in two steps, or shrink by pooling")
def resized_inside(site: Site) -> str | None:
    """A resized image must lie inside its source, and shrink 63-fold at most"""
    half = bool(site.op.options["halfPixelCenters"])
    for size, output, scale in zip(site.input().shape[1:3], site.output.shape[1:3], site.resize_scales(), strict=True):
        last = (output - 1) * scale + (scale // 2 - ONE_PIXEL // 2 if half else 0)
        if scale > MAX_DIMENSION or last >= size * ONE_PIXEL:
            return f"{size} to {output} pixels"
    return None


@hint("use int32 indices")
def indices(site: Site) -> str | None:
    """The indices of GATHER must be int32"""
    positions = site.input(1)
    return None if positions.dtype == "INT32" else f"{name(positions)} is {positions.dtype}"


@hint("gather along the first axis of a constant, quantized matrix")
def table(site: Site) -> str | None:
    """GATHER must take rows of a constant int8 matrix"""
    source, axis, batch = site.input(), site.op.options["axis"], site.op.options.get("batchDims", 0)
    if source.data is None or source.dtype != "INT8" or len(source.shape) != 2 or not source.elements:
        return f"{name(source)} is {source.dtype} {list(source.shape)}, {'constant' if source.constant else 'computed'}"
    return None if axis in (0, -2) and not batch else f"axis {axis}, {batch} batch dimensions"


@hint("convert with batch size 1")
def gathered(site: Site) -> str | None:
    """The output of GATHER must be int8, a row of the table for each index, and have batch size 1"""
    positions, out, (_, channels) = site.input(1), site.output, site.input().shape
    rows = natural_rows(out.shape)
    if out.dtype == "INT8" and out.shape == (*positions.shape, channels) and rows and rows.c == channels:
        return None
    return f"{list(positions.shape)} indices, rows of {channels}, output {out.dtype} {list(out.shape)}"
