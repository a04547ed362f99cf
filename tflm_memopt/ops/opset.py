"""Lists the operators that run row by row. For each operator, the table OPSET has a parsing function and the operator's
constraints. The constraints are checked in the order of the table.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tflm_memopt.format.limits import MAX_INPUTS
from tflm_memopt.model.reader import is_region
from tflm_memopt.ops import cells, converting, elementwise, movement, parse, select
from tflm_memopt.ops.constraints import arithmetic, common, conversion, limits, memory, moving, weighted
from tflm_memopt.ops.constraints.base import HINTS, Constraint, message
from tflm_memopt.ops.context import COMPARISONS, POOLS, OperatorContext
from tflm_memopt.ops.custom import CUSTOM_OPERATORS
from tflm_memopt.ops.moves import Irregular
from tflm_memopt.ops.rowop import RowOp


@dataclass(frozen=True, slots=True)
class Row:
    constraints: tuple[Constraint, ...]
    parse: Callable[[OperatorContext], RowOp]


SMALLER = "split it into two layers of smaller kernels, strides or tensors"
NO_KERNEL_HINT = "build it from operators that run row by row, which docs/operators.md lists"
INSTEAD: Mapping[str, str] = {
    "ADD_N": "add two tensors at a time: a + b + c instead of tf.add_n([a, b, c])",
    "EXP": "use tf.nn.softmax or tf.sigmoid, which contain it",
    "FLOOR_DIV": "multiply by the reciprocal and round down",
    "LOG": "use tf.nn.log_softmax, which contains it",
}

VIEWS = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
"""Operators whose output has the bytes of the input. rewrite/rules/view.py replaces them before the parsing."""


@dataclass(frozen=True, slots=True)
class Unsupported:
    code: str
    """Name of the constraint, which is the same in all versions of the package."""
    reason: str
    detail: str
    hint: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


_STRIDES = ("padding", "strideH", "strideW", "fusedActivationFunction")
_DILATIONS = ("dilationHFactor", "dilationWFactor")


def _row(parse_: Callable[[OperatorContext], RowOp], operands: Constraint, *constraints: Constraint) -> Row:
    return Row((operands, common.static_shapes, common.runtime_values, common.stateless, *constraints), parse_)


_INT8, _INTEGER = (common.int8_activations, common.quantized), (common.int8_or_int16, common.quantized)
_FILTER = (weighted.int8_filter, weighted.int32_bias)
_WINDOW = (weighted.window, common.fused_activation)
_POOL = _row(
    parse.pool,
    common.operands(least=1, most=1),
    common.options(*_STRIDES, "filterHeight", "filterWidth"),
    *_INTEGER,
    common.rank_four,
    weighted.pool_keeps_scale,
    *_WINDOW,
)
_WEIGHTED = common.operands(least=2, most=3)


def _convolution(
    parse_: Callable[[OperatorContext], RowOp], axis: int, options: Sequence[str], *constraints: Constraint
) -> Row:
    every = (*_INTEGER, common.rank_four, weighted.filter_rank(4), *_FILTER, weighted.filter_scales(axis))
    return _row(parse_, _WEIGHTED, common.options(*_STRIDES, *options), *every, *constraints, *_WINDOW)


_ONE, _TWO = common.operands(least=1, most=1), common.operands(least=2, most=2)
_ALIKE = common.batch_one, common.same_shape
_ELEMENTWISE, _MAPPED = (*_INT8, *_ALIKE), (*_INTEGER, *_ALIKE)
_EXTREME = _row(
    parse.reduce_extreme, common.operands(least=1, most=2), *_INT8, arithmetic.reduced_axes, common.same_quantization
)
_BROADCAST = arithmetic.constant_operand, arithmetic.broadcast
_RESIZED = common.options("alignCorners", "halfPixelCenters"), moving.one_alignment


def _moving(
    transform: movement.Transform,
    *constraints: Constraint,
    constants: int = 0,
    most: int = 1,
    types: Constraint = common.moved_types,
) -> Row:
    """Return the constraints and the parser of an operator that only moves bytes. The argument `constants` is the
    number of constant operands after the first operand. The argument `most` is the maximum number of operands whose
    bytes are moved.
    """
    operands = common.operands(least=1 + constants, most=most + constants)
    stated = (moving.constant_operands(*range(1, 1 + constants)),) if constants else ()
    every = (operands, types, moving.movable, *stated)
    return _row(partial(movement.moved, transform=transform), *every, *constraints, moving.regular_moves)


def _curve(*scales: Constraint) -> Row:
    return _row(parse.curve, _ONE, *_MAPPED, *scales, arithmetic.curve_scales, arithmetic.tabulated)


def _converted(types: Constraint, *scales: Constraint) -> Row:
    return _row(converting.converted, _ONE, types, conversion.one_scale, *_ALIKE, *scales)


def _binary(*constraints: Constraint, fused: bool = False, types: Constraint = common.int8_activations) -> Row:
    options, last = common.options("fusedActivationFunction"), common.fused_activation
    every = (types, common.quantized, *_BROADCAST, *constraints)
    return _row(elementwise.binary, _TWO, *((options, *every, last) if fused else every))


_BYTE = common.byte_or_float
_LOOKED_UP = _row(parse.table, _ONE, *_ELEMENTWISE, arithmetic.tabulated)
_GROUPS = common.options("blockSize"), common.rank_four

OPSET: Mapping[str, Row] = {
    "CONV_2D": _convolution(parse.conv, 0, _DILATIONS, weighted.all_channels),
    "DEPTHWISE_CONV_2D": _convolution(parse.depthwise, 3, (*_DILATIONS, "depthMultiplier")),
    "FULLY_CONNECTED": _row(
        parse.fully_connected,
        _WEIGHTED,
        common.options("fusedActivationFunction", "weightsFormat"),
        *_INTEGER,
        weighted.filter_rank(2),
        *_FILTER,
        weighted.filter_scales(0),
        weighted.dense_int4_scale,
        weighted.default_weights_format,
        weighted.bias_scale,
        common.fused_activation,
    ),
    **dict.fromkeys(("ADD", "SUB"), _binary(arithmetic.add_scales, fused=True, types=common.int8_or_int16)),
    "MUL": _binary(fused=True, types=common.int8_or_int16),
    **dict.fromkeys(("MAXIMUM", "MINIMUM"), _row(elementwise.extreme, _TWO, common.int8_or_int16, *_BROADCAST)),
    **dict.fromkeys(("SQUARED_DIFFERENCE", "PRELU"), _binary()),
    **dict.fromkeys(POOLS, _POOL),
    **dict.fromkeys(
        ("MEAN", "SUM"), _row(parse.mean, common.operands(least=1, most=2), *_INTEGER, arithmetic.reduced_axes)
    ),
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN"), _EXTREME),
    "GATHER": _row(
        parse.gather, _TWO, common.options("axis"), moving.selected, moving.leading_axis, moving.table, moving.gathered
    ),
    "RESIZE_BILINEAR": _row(
        parse.resize_bilinear,
        _TWO,
        *_INT8,
        moving.constant_operands(1),
        *_RESIZED,
        common.rank_four,
        moving.resized_inside,
    ),
    "BATCH_MATMUL": _row(
        parse.batch_matmul, _TWO, common.options("adjX", "adjY"), *_INTEGER, arithmetic.plain_matrices
    ),
    "TRANSPOSE_CONV": _convolution(parse.transpose_conv, 0, (), weighted.all_channels),
    "SVDF": _row(
        cells.svdf_time,
        common.operands(least=5, most=5),
        common.options("rank"),
        *_INT8,
        memory.own_variables,
        memory.int8_svdf,
        memory.svdf_shapes,
        memory.svdf_bias_scale,
        memory.one_region,
    ),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _row(
        cells.lstm,
        memory.lstm_operands,
        common.options("fusedActivationFunction", "timeMajor"),
        *_INT8,
        memory.own_variables,
        memory.int8_lstm,
        memory.lstm_shapes,
        memory.cell_scale,
        memory.cell_activation,
        memory.one_region,
    ),
    "SOFTMAX": _row(
        parse.softmax,
        _ONE,
        common.options("beta"),
        *_MAPPED,
        arithmetic.softmax_output,
        arithmetic.softmax_classes,
        arithmetic.softmax_scale,
    ),
    "LOG_SOFTMAX": _row(
        parse.log_softmax,
        _ONE,
        *_ELEMENTWISE,
        arithmetic.log_softmax_output,
        arithmetic.softmax_classes,
        arithmetic.log_softmax_scale,
    ),
    **dict.fromkeys(COMPARISONS, _row(parse.comparison, _TWO, arithmetic.compared_types, *_BROADCAST)),
    **dict.fromkeys(("LOGICAL_AND", "LOGICAL_OR"), _row(elementwise.logical, _TWO, common.bools, *_BROADCAST)),
    "LOGICAL_NOT": _row(parse.logical_not, _ONE, common.bools, *_ALIKE),
    "GATHER_ND": _row(parse.gather_nd, _TWO, moving.selected, moving.selection),
    "SELECT_V2": _row(select.select, common.operands(least=3, most=3), arithmetic.select_types, arithmetic.broadcast),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), _row(parse.arg_max, _TWO, arithmetic.int32_places, arithmetic.one_axis)),
    "PAD": _moving(movement.pad, constants=1),
    "PADV2": _moving(movement.pad, constants=2),
    "MIRROR_PAD": _moving(movement.mirror_pad, common.options("mode"), constants=1, types=_BYTE),
    "CONCATENATION": _moving(movement.concatenation, common.options("axis"), most=MAX_INPUTS),
    "PACK": _moving(movement.pack, common.options("axis", "valuesCount"), most=MAX_INPUTS),
    **dict.fromkeys(("SPLIT", "SPLIT_V", "UNPACK"), _moving(movement.piece, moving.one_piece)),
    "SLICE": _moving(movement.slice_, constants=2),
    "STRIDED_SLICE": _moving(
        movement.strided_slice,
        common.options("beginMask", "endMask", "shrinkAxisMask"),
        moving.plain_slice,
        constants=3,
    ),
    "DEPTH_TO_SPACE": _moving(movement.depth_to_space, *_GROUPS, types=_BYTE),
    "SPACE_TO_DEPTH": _moving(movement.space_to_depth, *_GROUPS, types=_BYTE),
    "TRANSPOSE": _moving(movement.transpose, constants=1),
    "BROADCAST_TO": _moving(movement.broadcast_to, constants=1),
    "TILE": _moving(movement.tile, constants=1),
    "REVERSE_V2": _moving(movement.reverse, constants=1),
    "RESIZE_NEAREST_NEIGHBOR": _moving(movement.resize_nearest, *_RESIZED, constants=1),
    "QUANTIZE": _converted(conversion.quantize_types, conversion.rescalable),
    "DEQUANTIZE": _converted(conversion.dequantize_types),
    "CAST": _row(converting.cast, _ONE, conversion.cast_types, *_ALIKE),
    **dict.fromkeys(("RELU", "ABS"), _row(parse.sloped, _ONE, *_MAPPED, arithmetic.slopes, arithmetic.tabulated)),
    "RELU6": _row(parse.relu6, _ONE, *_MAPPED, arithmetic.tabulated),
    "LEAKY_RELU": _row(parse.sloped, _ONE, common.options("alpha"), *_MAPPED, arithmetic.slopes, arithmetic.tabulated),
    **dict.fromkeys(("ELU", "HARD_SWISH", "RSQRT"), _LOOKED_UP),
    "LOGISTIC": _curve(arithmetic.logistic_output),
    "TANH": _curve(),
}
_TYPES = {
    common.int8_activations: common.float_activations,
    common.int8_or_int16: common.float_activations,
    weighted.int8_filter: weighted.float_filter,
}
"""Maps a constraint on integer types to the constraint for float32 operators."""
_OF_INTEGERS = frozenset(
    """
    quantized symmetric_filter int32_bias bias_scale dense_int4_scale pool_keeps_scale same_quantization add_scales
    slopes curve_scales logistic_output softmax_output softmax_scale softmax_classes log_softmax_output
    log_softmax_scale tabulated resized_inside
    """.split()  # noqa: SIM905
)
"""Constraints on scales and tables, which apply only to integer operators."""


def _floats(row: Row, parse_: Callable[[OperatorContext], RowOp] | None = None) -> Row:
    kept = (constraint for constraint in row.constraints if constraint.__name__ not in _OF_INTEGERS)
    return Row(tuple(_TYPES.get(constraint, constraint) for constraint in kept), parse_ or row.parse)


_CURVED = _floats(_LOOKED_UP, parse.float_curve)
FLOATS: Mapping[str, Row] = {
    **{
        name: _floats(OPSET[name])
        for name in (
            "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "AVERAGE_POOL_2D", "MAX_POOL_2D",
            "MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "SOFTMAX", "LOG_SOFTMAX", "BATCH_MATMUL",
        )
    },
    **{
        name: _floats(OPSET[name], elementwise.binary_32)
        for name in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "PRELU")
    },
    "DIV": _floats(_binary(fused=True), elementwise.binary_32),
    "FLOOR_DIV": _floats(_binary(arithmetic.constant_divisor), elementwise.binary_32),
    "FLOOR_MOD": _floats(_binary(), elementwise.binary_32),
    "LEAKY_RELU": _floats(OPSET["LEAKY_RELU"], elementwise.float_leaky_relu),
    **dict.fromkeys(("LOGISTIC", "TANH", "ELU", "HARD_SWISH", "ABS", "NEG", "SQUARE", "SQRT", "RSQRT"), _CURVED),
    **dict.fromkeys(("EXP", "LOG", "FLOOR", "CEIL", "ROUND", "RELU", "RELU6"), _CURVED),
    "RESIZE_BILINEAR": _floats(OPSET["RESIZE_BILINEAR"], parse.float_resize_bilinear),
}  # fmt: skip
"""Constraints and parsers of operators with float32 output, except for operators that only move data."""


def _integer_binary(*constraints: Constraint) -> Row:
    return _row(elementwise.binary_32, _TWO, common.int32_activations, *_BROADCAST, *constraints)


INTEGERS: Mapping[str, Row] = {
    **dict.fromkeys(("ADD", "SUB", "MUL"), _integer_binary(common.no_activation)),
    **dict.fromkeys(("MAXIMUM", "MINIMUM"), _integer_binary()),
}
COMPUTED_TABLE = _row(parse.gather_nd, _TWO, moving.selected, moving.leading_axis)
"""Constraints and parser of a GATHER from a tensor that is computed at run time."""
PICKED = _moving(movement.gather, common.options("axis"), constants=1)
"""Constraints and parser of a GATHER from a computed tensor by constant indices."""
OWN = _row(parse.own, common.own_operands, *_ELEMENTWISE)


def row_of(context: OperatorContext) -> Row | None:
    op, first = context.op, context.tensor(0)
    dtype = first.dtype if first is not None and op.outputs and first.dtype == context.output.dtype else ""
    if op.type == "GATHER" and first is not None and not first.constant:
        return PICKED if context.read == (0,) else COMPUTED_TABLE
    found = {"FLOAT32": FLOATS, "INT32": INTEGERS}.get(dtype, OPSET).get(op.type) or OPSET.get(op.type)
    return found or (OWN if op.type in CUSTOM_OPERATORS else None)


def refusal(context: OperatorContext) -> Unsupported | None:
    """Return the first reason why the operator cannot run row by row, or None."""
    row = row_of(context)
    if row is None:
        return _no_kernel(context)
    for constraint in row.constraints:
        detail = constraint(context)
        if detail is not None:
            return _refused(constraint, detail)
    if row is OWN and CUSTOM_OPERATORS[context.op.type].numbers(context) is None:
        detail, hint = f"its numbers() returned None for {context.op.type}", "describe that form as well"
        return Unsupported("own_form", "It must have the form that its custom description supports", detail, hint)
    return None


def row_op(context: OperatorContext) -> RowOp | Unsupported:
    """Return the operator as a RowOp, or the reason why it stays builtin."""
    row, reason = row_of(context), refusal(context)
    if reason is not None or row is None:
        return reason or _no_kernel(context)
    try:
        op = row.parse(context)
    except Irregular as why:
        return _refused(moving.regular_moves, str(why))
    detail = limits.executable(op)
    return op if detail is None else Unsupported("executable", message(limits.executable), detail, SMALLER)


def _no_kernel(context: OperatorContext) -> Unsupported:
    name = context.op.type
    if is_region(context.op):
        return Unsupported("rewritten", "tflm-memopt has written this operator", "", "optimize the original model")
    if name in VIEWS and (detail := moving.plain_view(context)) is not None:
        return _refused(moving.plain_view, detail)
    types = [dtype for dtype, rows in (("int8", OPSET), ("float32", FLOATS), ("int32", INTEGERS)) if name in rows]
    hint = INSTEAD.get(name, NO_KERNEL_HINT)
    if not types:
        return Unsupported("no_kernel", f"There is no row kernel for {_label(context)} yet", "", hint)
    given = dict.fromkeys(t.dtype.lower() for t in (context.tensor(k) for k in range(len(context.op.inputs))) if t)
    hint = f"compute it in {' or '.join(types)}, or {hint}"
    return Unsupported("no_kernel", f"{name} runs row by row for {' and '.join(types)} only", ", ".join(given), hint)


def _refused(constraint: Constraint, detail: str) -> Unsupported:
    return Unsupported(constraint.__name__, message(constraint), detail, HINTS[constraint])


def _label(context: OperatorContext) -> str:
    code = context.op.options.get("custom_code")
    return f"{context.op.type} '{code}'" if code else context.op.type
