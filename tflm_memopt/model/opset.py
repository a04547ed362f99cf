"""The operators that run row by row. One row says everything about one: what it must fulfil, how it becomes a RowOp.

Adding an operator is a row here, with its constraints and parse function, and a kernel in custom_ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tflm_memopt.model import constraints as must
from tflm_memopt.model import elementwise, movement, parse
from tflm_memopt.model.constraints import Constraint
from tflm_memopt.model.moves import Irregular
from tflm_memopt.model.rowop import RowOp
from tflm_memopt.model.site import Site


@dataclass(frozen=True, slots=True)
class Row:
    """One operator."""

    constraints: tuple[Constraint, ...]
    """Asked in this order, up to the first that does not hold."""
    parse: Callable[[Site], RowOp]


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Why an operator stays builtin."""

    code: str
    """Name of the constraint: stable, for programs."""
    reason: str
    """The constraint, for people."""
    detail: str
    hint: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


_STRIDES = ("padding", "strideH", "strideW", "fusedActivationFunction")
_DILATIONS = ("dilationHFactor", "dilationWFactor")


def _of(types: Constraint) -> tuple[Constraint, ...]:
    """Activations of these types, as nearly every operator wants them."""
    return must.static_shapes, types, must.quantized, must.runtime_values, must.stateless


_INT8, _INTEGER = _of(must.int8_activations), _of(must.int8_or_int16)
_FILTER = (must.int8_filter, must.int32_bias)
_WINDOW = (must.window, must.output_size, must.fused_activation)
_CONV = (*_INTEGER, must.rank_four, must.filter_rank(4), *_FILTER)
_POOL = (
    must.operands(least=1, most=1),
    must.options(*_STRIDES, "filterHeight", "filterWidth"),
    *_INT8,
    must.rank_four,
    must.pool_keeps_scale,
    *_WINDOW,
)
_WEIGHTED = must.operands(least=2, most=3)
_ELEMENTWISE = (*_INT8, must.batch_one, must.same_shape)
_ONE = must.operands(least=1, most=1)
_REDUCED = (must.operands(least=1, most=2), *_INT8, must.batch_one, must.reduced_axes)
_RESIZED = (
    must.operands(least=2, most=2),
    must.options("alignCorners", "halfPixelCenters"),
    *_INT8,
    must.resized_channels,
    must.constant_operands(1),
)
_BYTES = (must.static_shapes, must.int8_activations, must.runtime_values, must.stateless, must.movable)


def _moving(transform: movement.Transform, *constraints: Constraint, least: int = 1, most: int = 1) -> Row:
    """An operator that only moves bytes."""

    def to_copy(site: Site) -> RowOp:
        return movement.moved(site, transform)

    return Row((must.operands(least=least, most=most), *_BYTES, *constraints, must.regular_moves), to_copy)


def _looked_up(*constraints: Constraint, scales: tuple[Constraint, ...] = ()) -> Row:
    """An operator that computes byte by byte (lookup.TABLES)."""
    return Row((_ONE, *constraints, *_ELEMENTWISE, *scales, must.tabulated), parse.table)


def _binary(*constraints: Constraint, fused: bool = False, types: Constraint = must.int8_activations) -> Row:
    """An operator of two operands (elementwise.ARITHMETIC)."""
    two, options = must.operands(least=2, most=2), must.options("fusedActivationFunction")
    first, last = ((options,), (must.fused_activation,)) if fused else ((), ())
    common = (*_of(types), must.constant_operand, must.broadcast)
    return Row((two, *first, *common, *constraints, *last), elementwise.binary)


_MANY = {"least": 1, "most": must.MAX_OPERANDS}
_PIECE = _moving(movement.piece, must.one_piece)

OPSET: Mapping[str, Row] = {
    "CONV_2D": Row(
        (
            _WEIGHTED,
            must.options(*_STRIDES, *_DILATIONS),
            *_CONV,
            must.filter_scales(0),
            must.all_channels,
            *_WINDOW,
        ),
        parse.conv,
    ),
    "DEPTHWISE_CONV_2D": Row(
        (
            _WEIGHTED,
            must.options(*_STRIDES, *_DILATIONS, "depthMultiplier"),
            *_CONV,
            must.filter_scales(3),
            must.depth_multiplier,
            *_WINDOW,
        ),
        parse.depthwise,
    ),
    "FULLY_CONNECTED": Row(
        (
            _WEIGHTED,
            must.options("fusedActivationFunction", "weightsFormat"),
            *_INTEGER,
            must.filter_rank(2),
            *_FILTER,
            must.filter_scales(0),
            must.dense_int4_scale,
            must.default_weights_format,
            must.dense_shapes,
            must.bias_scale,
            must.fused_activation,
        ),
        parse.fully_connected,
    ),
    "ADD": _binary(must.plain_int16, must.add_scales, fused=True, types=must.int8_or_int16),
    "SUB": _binary(must.add_scales, fused=True),
    "MUL": _binary(fused=True),
    "MAXIMUM": _binary(),
    "MINIMUM": _binary(),
    "SQUARED_DIFFERENCE": _binary(),
    "PRELU": _binary(),
    "AVERAGE_POOL_2D": Row(_POOL, parse.average_pool),
    "MAX_POOL_2D": Row(_POOL, parse.max_pool),
    "MEAN": Row(_REDUCED, parse.mean),
    "SUM": Row(_REDUCED, parse.sum_),
    "REDUCE_MAX": Row((*_REDUCED, must.same_quantization), parse.reduce_max),
    "GATHER": Row(
        (
            must.operands(least=2, most=2),
            must.options("axis"),
            must.static_shapes,
            must.indices,
            must.table,
            must.gathered,
            must.runtime_values,
            must.stateless,
        ),
        parse.gather,
    ),
    "RESIZE_BILINEAR": Row((*_RESIZED, must.rank_four, must.resized_inside), parse.resize_bilinear),
    "BATCH_MATMUL": Row(
        (
            must.operands(least=2, most=2),
            must.options("adjX", "adjY"),
            *_INT8,
            must.plain_matrices,
        ),
        parse.batch_matmul,
    ),
    "TRANSPOSE_CONV": Row(
        (
            _WEIGHTED,
            must.options(*_STRIDES),
            must.int8_activations,
            *_CONV,
            must.filter_scales(0),
            must.all_channels,
            must.window,
            must.fused_activation,
        ),
        parse.transpose_conv,
    ),
    "SOFTMAX": Row((_ONE, must.options("beta"), *_ELEMENTWISE, must.softmax_output, must.softmax_input), parse.softmax),
    "PAD": _moving(movement.pad, must.constant_operands(1), least=2, most=2),
    "PADV2": _moving(movement.pad, must.constant_operands(1, 2), least=3, most=3),
    "MIRROR_PAD": _moving(movement.mirror_pad, must.options("mode"), must.constant_operands(1), least=2, most=2),
    "CONCATENATION": _moving(movement.concatenation, must.options("axis"), **_MANY),
    "PACK": _moving(movement.pack, must.options("axis"), **_MANY),
    "SPLIT": _PIECE,
    "SPLIT_V": _PIECE,
    "UNPACK": _PIECE,
    "SLICE": _moving(movement.slice_, must.constant_operands(1, 2), least=3, most=3),
    "STRIDED_SLICE": _moving(
        movement.strided_slice,
        must.options("beginMask", "endMask", "shrinkAxisMask"),
        must.plain_slice,
        must.constant_operands(1, 2, 3),
        least=4,
        most=4,
    ),
    "DEPTH_TO_SPACE": _moving(movement.depth_to_space, must.options("blockSize"), must.rank_four, must.block_divides),
    "SPACE_TO_DEPTH": _moving(movement.space_to_depth, must.options("blockSize"), must.rank_four, must.block_divides),
    "TRANSPOSE": _moving(movement.transpose, must.constant_operands(1), least=2, most=2),
    "BROADCAST_TO": _moving(movement.broadcast_to, must.constant_operands(1), least=2, most=2),
    "RESIZE_NEAREST_NEIGHBOR": _moving(
        movement.resize_nearest,
        must.options("alignCorners", "halfPixelCenters"),
        must.resized_channels,
        must.constant_operands(1),
        least=2,
        most=2,
    ),
    "QUANTIZE": _looked_up(must.int8_to_int8),
    "RELU": _looked_up(),
    "RELU6": _looked_up(),
    "LEAKY_RELU": _looked_up(must.options("alpha")),
    "ELU": _looked_up(),
    "HARD_SWISH": _looked_up(),
    "LOGISTIC": _looked_up(scales=(must.logistic_output,)),
    "TANH": _looked_up(),
    "ABS": _looked_up(),
}
"""By TFLite's operator names."""


def refusal(site: Site) -> Unsupported | None:
    """The first reason why the operator cannot run row by row, None when it can."""
    row = OPSET.get(site.op.type)
    if row is None:
        return Unsupported("no_kernel", f"There is no row kernel for {_label(site)} yet", "", "leave it builtin")
    for constraint in row.constraints:
        detail = constraint(site)
        if detail is not None:
            return _refused(constraint, detail)
    return None


def row_op(site: Site) -> RowOp | Unsupported:
    """The operator in the form that planner and executor know, or the reason why it stays builtin."""
    reason = refusal(site)
    if reason is not None:
        return reason
    try:
        op = OPSET[site.op.type].parse(site)
    except Irregular as why:
        return _refused(must.regular_moves, str(why))
    detail = must.executable(op)
    return op if detail is None else Unsupported("executable", must.executable.__doc__ or "", detail, must.SHAPE)


def _refused(constraint: Constraint, detail: str) -> Unsupported:
    return Unsupported(constraint.__name__, constraint.__doc__ or "", detail, must.HINTS[constraint])


def _label(site: Site) -> str:
    code = site.op.options.get("custom_code")
    return f"{site.op.type} '{code}'" if code else site.op.type
