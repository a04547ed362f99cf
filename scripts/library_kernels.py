"""Lists the kernels that kernels.py generates, with their schedules and the arguments of their calls."""

from collections.abc import Mapping
from typing import NamedTuple

from descriptions import curves, elementwise, float_windows, floats
from descriptions.activations import log_softmax, lookup, softmax
from descriptions.elementwise import add
from descriptions.packed import packed_conv, packed_depthwise, windows
from descriptions.pixels import (
    average_pool_pixel,
    conv_pixel,
    conv_sums,
    conv_wide,
    depthwise_pixel,
    depthwise_sums,
    max_pool_pixel,
    mean_pixel,
    place_pixel,
)
from descriptions.rows import arg_max, batch_matmul, batch_matmul_f32, batch_matmul_s16, gather, resize_bilinear
from schedules import inward, jam, scheduled, unroll, vectorise

from tflm_memopt.kernels.language import KernelProgram, Type, bind

PIXELS = tuple(scheduled(one, [vectorise(var)]) for one, var in ((conv_pixel, "k"), (depthwise_pixel, "k"), (add, "i")))
"""Programs for any core use the kernels in PIXELS, which compute several outputs at once with vectors."""
PACKED = (
    ("", scheduled(packed_conv, [vectorise("k"), jam("p", 2, apart=True), unroll("i", 4)])),
    ("_narrow", scheduled(packed_conv, [vectorise("k", group=4), jam("p", 4, apart=True), unroll("i", 4)])),
    ("", scheduled(packed_depthwise, [vectorise("k"), jam("p", 2, apart=True)])),
    ("", scheduled(windows, [vectorise("i")])),
)
"""Pairs: the last part of a kernel's C name, and the kernel. A host compiles the kernels in PACKED as C loops."""
PLAIN = (packed_conv, packed_depthwise, windows)
Expressions = dict[str, str]
HEAD = "void {}(const tmo_kernel *k, const tmo_window *window, int8_t *out)"
PIXELS_OF = {"pixels": "k->out_width", "x": "window->pixels[0]", "y": "out"}
RANGE = {"zero_out": "k->op->output_zero_point", "low": "k->op->act_min", "high": "k->op->act_max"}
RANGE_S16 = {"low": "(int16_t)(k->op->range_s16 & 0xFFFF)", "high": "k->op->range_s16 >> 16"}


class LibraryKernel(NamedTuple):
    name: str
    kernel: KernelProgram
    given: Expressions
    """C expressions for the kernel's arguments, by default the arguments' names."""
    head: str = HEAD
    many: KernelProgram | None = None
    """Variant of the kernel for cores with many registers, or None."""
    ends: str = ""
    calls: Mapping[str, str] = {}
    """Maps the first line of each C function that calls the kernel to the arguments of the call."""
    at_once: int = 0
    """Number of elements that the C function computes at once in a loop of tmo/elements.h, or 0 if the kernel has its
    own loops.
    """


def _inlined(parameters: str) -> str:
    """All callers pass constants for the arguments in `parameters`, so that inlining removes the arguments."""
    return f"static TMO_ALWAYS_INLINE {HEAD.removesuffix(')')}, {parameters})"


def _scales(*names: str) -> Expressions:
    rows = (("scale", "k->multipliers[{}]"), ("shift", "k->shifts[{}]"))
    return {f"{what}_{name}": text.format(i) for i, name in enumerate(names) for what, text in rows}


def _sign(negative: str) -> Expressions:
    return {"sign": f"tmo_is_kind(k->op, TMO_OP_{negative}) ? -1 : 1"}


def _operands(element_bytes: int) -> Expressions:
    given = {"channels": f"k->out_channels / {element_bytes}" if element_bytes > 1 else "k->out_channels"}
    for at, name in enumerate(("x", "other")):
        pixel = f"k->pixel_step[{at}]"
        given |= {
            name: f"window->pixels[{at}]", f"zero_{name}": f"k->op->input_zero_point[{at}]",
            f"{name}_pixel": f"(int32_t)({pixel} / {element_bytes})" if element_bytes > 1 else f"(int32_t){pixel}",
            f"{name}_channel": f"(int32_t)k->channel_step[{at}]",
            f"scale_{name}": f"k->multipliers[{at}]", f"shift_{name}": f"k->shifts[{at}]",
        }  # fmt: skip
    return PIXELS_OF | given


BINARY = (
    _operands(1) | RANGE | {"left": "k->op->left_shift", "scale_out": "k->multipliers[2]", "shift_out": "k->shifts[2]"}
)
BINARY_S16 = {**BINARY, **_operands(2), **RANGE_S16}
SOFTMAX = PIXELS_OF | {
    "rows": "k->out_width", "channels": "k->out_channels", "multiplier": "k->multipliers[0]", "shift": "k->shifts[0]",
    "diff_min": "k->op->least_difference", "back": "k->multipliers[1]", "back_shift": "k->shifts[1]",
}  # fmt: skip
RESIZE = PIXELS_OF | {
    "width": "k->in_width", "channels": "k->out_channels", "row": "k->row",
    "down_step": "k->op->scale_h", "down_first": "k->op->half_pixel_centers ? k->op->scale_h / 2 - 512 : 0",
    "across_step": "k->op->scale_w", "across_first": "k->op->half_pixel_centers ? k->op->scale_w / 2 - 512 : 0",
    "top": "window->pixels[0] ? window->pixels[0] : window->pixels[1]",
    "bottom": "window->pixels[1] ? window->pixels[1] : window->pixels[0]",
}  # fmt: skip
GATHER = "void {}(const tmo_kernel *k, int32_t row, int8_t *y)"
SOFTMAX_S16 = SOFTMAX | {"channels": "k->out_channels / 2", "powers": "out"}
MATMUL = PIXELS_OF | {
    "zero_out": "k->op->output_zero_point",
    "depth": "k->in_channels", "columns": "k->out_channels",
    "left": "window->pixels[0]", "right": "window->pixels + 1",
    "down": "!k->op->transposed", "across": "k->op->transposed",
    "zero_left": "k->op->input_zero_point[0]", "zero_right": "k->op->input_zero_point[1]",
    "multiplier": "k->multipliers[0]", "shift": "k->shifts[0]",
}  # fmt: skip
MATMUL_S16 = MATMUL | {"depth": "k->in_channels / 2", "columns": "k->out_channels / 2"}
FIRST, LAST = "!tmo_adds_sums() || k->first", "!tmo_adds_sums() || k->last"
PIXEL = "void {}(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out)"
POOL = RANGE | {
    "x": "window->pixels", "y": "out + i", "sums": "tmo_has_sums(k) ? k->sums + i : NULL", "pointers": "window->count",
    "run": "k->whole_rows ? window->columns : 1", "channels": "k->out_channels", "area": "window->area",
    "offset": "(int32_t)window->offset",
    "first": "!tmo_adds_sums() || (k->first && (window->pixels || !k->last))", "last": LAST,
    "zero_in": "k->op->input_zero_point[0]",
    "multiplier": "k->multipliers[0]", "shift": "k->shifts[0]",
}  # fmt: skip
POOL_S16 = POOL | RANGE_S16 | {
    "sums": "tmo_has_sums(k) ? k->sums + i / 2 : NULL", "channels": "k->out_channels / 2",
    "offset": "(int32_t)(window->offset / 2)",
}  # fmt: skip

RUNS = "void {}(const tmo_runs *r, const int8_t *weights, uint32_t channels, uint32_t *totals)"
CONV = {
    "x": "r->at", "w": "weights", "parts": "r->parts", "count": "r->count", "run": "r->bytes", "filters": "channels",
    "next_at": "r->next_at", "stride": "r->stride", "next_offset": "(int32_t)r->next_offset",
    "offset": "(int32_t)r->offset", "step": "(int32_t)r->step", "filter_weights": "(int32_t)r->filter",
    "part_weights": "(int32_t)r->next_row", "run_weights": "(int32_t)r->row", "zero_in": "r->zero_point",
    "sums": "(int32_t *)totals",
}  # fmt: skip
SUMS = (
    "void {}(const tmo_kernel *k, const tmo_window *window, uint32_t from, uint32_t to, uint32_t n, uint32_t *totals)"
)
WINDOW = {
    "x": "window->pixels", "offset": "(int32_t)(window->offset + from)", "zero_in": "k->op->input_zero_point[0]",
    "rows": "k->op->tile == 0 ? window->count : window->columns > 0 ? window->count / window->columns : 0u",
    "columns": "window->columns", "next_row": "k->op->tile == 0 ? 1 : window->columns",
    "next_column": "k->op->tile == 0 ? 0 : 1",
    "apart": "k->op->tile == 0 ? (int32_t)(k->op->dilation_w * k->in_channels) : 0",
    "w": "k->weights + tmo_first_tap(k, window) + to", "tap_weights": "(int32_t)k->tap_step",
    "row_weights": "(int32_t)(k->op->kernel_w * k->tap_step)", "channels": "n", "sums": "(int32_t *)totals",
}  # fmt: skip
DEPTHWISE_S16 = "tmo_is_kind(k->op, TMO_OP_DEPTHWISE_S16)"
WIDE = WINDOW | RANGE_S16 | {
    "y": "out + i", "offset": "(int32_t)(window->offset / 2)", "w": "k->weights + tmo_first_tap(k, window)",
    "apart": "k->op->tile == 0 ? (int32_t)(k->op->dilation_w * k->in_channels / 2) : 0",
    "groups": f"{DEPTHWISE_S16} ? k->in_channels / 2 : 1u", "channels": f"{DEPTHWISE_S16} ? 1u : k->in_channels / 2",
    "each": f"{DEPTHWISE_S16} ? k->out_channels / k->in_channels : k->out_channels / 2",
    "filter_weights": f"{DEPTHWISE_S16} ? 1 : (int32_t)(k->op->kernel_h * k->op->kernel_w * k->tap_step)",
    "bias": "k->bias ? k->bias : (const int32_t[2]){0}", "bias_step": "k->bias ? 2 : 0",
    "multipliers": "k->multipliers", "shifts": "k->shifts", "scale_step": "k->op->flags & TMO_FLAG_PER_CHANNEL ? 1 : 0",
}  # fmt: skip
WIDE_RUNS = WIDE | CONV | {
    "y": "out", "rows": "r->count", "columns": "r->parts", "next_row": "r->stride", "next_column": "r->next_at",
    "apart": "(int32_t)r->next_offset", "groups": "1u", "channels": "r->bytes", "each": "k->out_channels / 2",
    "row_weights": "(int32_t)r->row", "tap_weights": "(int32_t)r->next_row",
}  # fmt: skip
RUNS_OF_ELEMENTS = "void {}(const tmo_kernel *k, const tmo_runs *r, const int8_t *weights, int8_t *out)"


def _elements(element_bytes: int) -> Expressions:
    n = "k->out_width * k->out_channels" + (f" / {element_bytes}" if element_bytes > 1 else "")
    zero, scale = "k->op->input_zero_point[0]", "k->op->scale_bits"
    return PIXELS_OF | RANGE | _scales("out") | {"n": n, "zero_x": zero, "scale": scale, "table": "k->weights"}


LIMITS = {"low": "tmo_float_low(k->op)", "high": "tmo_float_high(k->op)"}
ELEMENTS = "void {}(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n)"
OF_ELEMENTS = {"channels": "n", "low": "tmo_float_low(op)", "high": "tmo_float_high(op)"}
ADJACENT = {"pixels": 1, "x_pixel": 0, "other_pixel": 0, "x_channel": 1, "other_channel": 1}
SOFTMAX_F32 = SOFTMAX | {"channels": "k->out_channels / 4", "beta": "k->op->beta_bits", "powers": "out"}
MATMUL_F32 = MATMUL | {"depth": "k->in_channels / 4", "columns": "k->out_channels / 4"}
POOL_F32 = POOL | LIMITS | {
    "y": "out + i", "sums": "(int8_t *)(tmo_has_sums(k) ? k->sums + i / 4 : NULL)", "channels": "k->out_channels / 4",
    "offset": "(int32_t)(window->offset / 4)", "first": FIRST,
    "area": "tmo_float_divisor(k->op, window->area)",
}  # fmt: skip
PLACE = POOL | {
    "values": "tmo_has_sums(k) ? k->sums + i / 2 : NULL",
    "places": "tmo_has_sums(k) ? k->sums + i / 2 + k->out_channels / 4 : NULL",
    "y": "out + i", "channels": "k->out_channels / 4", "first": FIRST,
    "before": "(int32_t)((uint32_t)window->first_row * k->op->kernel_w + window->first_column)",
}  # fmt: skip
PLACE_F32 = PLACE | {
    "values": "(int8_t *)(tmo_has_sums(k) ? k->sums + i / 2 : NULL)", "offset": "(int32_t)(window->offset / 4)",
}  # fmt: skip
SIGNED = (
    "static TMO_ALWAYS_INLINE void {}(const tmo_kernel *k, const tmo_window *window, uint32_t i, int8_t *out, "
    "int32_t sign)"
)


def _signed(greatest: str, smallest: str, one: str, minus_one: str) -> Expressions:
    signs = {greatest: one, smallest: minus_one}
    return {PIXEL.format(name): f"k, window, i, out, {sign}" for name, sign in signs.items()}


FLOAT_SIGNS = ("0x3F800000", "(int32_t)0xBF800000u")
DEPTHWISE_F32 = "tmo_is_kind(k->op, TMO_OP_DEPTHWISE_F32)"
CONV_F32 = WINDOW | LIMITS | {
    "y": "out + i", "sums": "(int8_t *)(tmo_has_sums(k) ? k->sums + i / 4 : NULL)", "first": FIRST, "last": LAST,
    "offset": "(int32_t)(window->offset / 4)",
    "w": "(const float *)(const void *)k->weights + tmo_first_tap(k, window)",
    "apart": "k->op->tile == 0 ? (int32_t)(k->op->dilation_w * k->in_channels / 4) : 0",
    "groups": f"{DEPTHWISE_F32} ? k->in_channels / 4 : 1u", "channels": f"{DEPTHWISE_F32} ? 1u : k->in_channels / 4",
    "each": f"{DEPTHWISE_F32} ? k->out_channels / k->in_channels : k->out_channels / 4",
    "filter_weights": f"{DEPTHWISE_F32} ? 1 : (int32_t)(k->op->kernel_h * k->op->kernel_w * k->tap_step)",
    "bias": "(const float *)(const void *)(k->bias ? k->bias : (const int32_t[1]){0})",
    "bias_step": "k->bias ? 1 : 0",
}  # fmt: skip
CONV_RUNS_F32 = CONV_F32 | CONV | {
    "y": "out", "w": "(const float *)(const void *)weights", "rows": "r->count", "columns": "r->parts",
    "next_row": "r->stride", "next_column": "r->next_at", "apart": "(int32_t)r->next_offset", "channels": "r->bytes",
    "each": "k->out_channels / 4", "row_weights": "(int32_t)r->row", "tap_weights": "(int32_t)r->next_row",
    "sums": "(int8_t *)k->sums",
}  # fmt: skip
CURVE = _elements(2) | {"multiplier": "k->multipliers[0]", "shift": "k->shifts[0]"}


def _of_elements(one: KernelProgram, turns: int = 1, name: str = "", **bound: int) -> LibraryKernel:
    """Return a kernel that computes `turns` adjacent, aligned elements at once.

    A kernel that changes the elements' type copies its input elements, so that the output may overwrite the input.
    """
    types = {t.type for t in one.tensors}
    aligned = types != {Type.FLOAT32, Type.INT32}
    bound_kernel = scheduled(one, [bind(ADJACENT | bound, aligned=aligned)])
    if aligned:
        return LibraryKernel(f"tmo_{name or one.name}", bound_kernel, OF_ELEMENTS, ELEMENTS, at_once=turns)
    given = OF_ELEMENTS | {"x": "(const int8_t *)a", "y": "(int8_t *)out"}
    return LibraryKernel(f"tmo_{name or one.name}", bound_kernel, given, ELEMENTS, ends="(void)op, (void)b;")


FILES: Mapping[str, tuple[LibraryKernel, ...]] = {
    "binary": (
        LibraryKernel("tmo_add_scalars_s8", elementwise.add_each, BINARY | _sign("SUB")),
        LibraryKernel("tmo_squared_difference_s8", elementwise.square_difference, BINARY),
        LibraryKernel("tmo_mul_scalars_s8", elementwise.multiply, BINARY | _scales("out")),
        LibraryKernel("tmo_prelu_s8", elementwise.prelu, BINARY | _scales("positive", "negative")),
        LibraryKernel("tmo_compare_s8", elementwise.compare, BINARY | {"left": "8", "wanted": "k->op->wanted"}),
        LibraryKernel("tmo_add_s16", elementwise.add_s16, BINARY_S16 | _sign("SUB_S16")),
        LibraryKernel(
            "tmo_mul_s16",
            scheduled(elementwise.multiply_s16, [bind({"zero_x": 0, "zero_other": 0, "zero_out": 0})]),
            BINARY_S16 | _scales("out"),
        ),
    ),
    "softmax": (
        LibraryKernel("tmo_softmax_s8", softmax, SOFTMAX),
        LibraryKernel("tmo_log_softmax_s8", log_softmax, SOFTMAX),
    ),
    "curves16": (
        LibraryKernel(
            "curve_s16",
            scheduled(curves.curve_s16, [unroll("i", 4)]),
            CURVE,
            _inlined("int32_t bits, int32_t right, int32_t centre"),
            calls={
                HEAD.format("tmo_logistic_s16"): "k, window, out, 9, 10, INT32_C(1) << 24",
                HEAD.format("tmo_tanh_s16"): "k, window, out, 8, 8, 0",
            },
        ),
        LibraryKernel("tmo_softmax_s16", curves.softmax_s16, SOFTMAX_S16),
    ),
    "lookup": (LibraryKernel("tmo_lookup_bytes", scheduled(lookup, [unroll("i", 4)]), _elements(1)),),
    "convert": (
        LibraryKernel("tmo_quantize", elementwise.quantize, _elements(1)),
        LibraryKernel("tmo_quantize_s16", elementwise.quantize_s16, _elements(2)),
        LibraryKernel("tmo_dequantize", elementwise.dequantize, _elements(4)),
        LibraryKernel("tmo_dequantize_s16", elementwise.dequantize_s16, _elements(4)),
        LibraryKernel("tmo_widen", elementwise.widen, _elements(2)),
        LibraryKernel("tmo_narrow", elementwise.narrow, _elements(1)),
        LibraryKernel("tmo_rescale_s16", elementwise.rescale_s16, _elements(2)),
    ),
    "float": (
        *(_of_elements(one, 4) for one in (floats.add, floats.subtract, floats.multiply)),
        *(_of_elements(one, 4) for one in (floats.sums, floats.differences, floats.products)),
        *(_of_elements(one, 4) for one in (floats.maximum, floats.minimum, floats.square_difference, floats.prelu)),
        _of_elements(floats.leaky_relu, 4, other_channel=0),
        *(_of_elements(one) for one in (floats.divide, floats.floor_divide, floats.floor_modulo)),
    ),
    "float_curves": (
        _of_elements(floats.clamp, 4, "clamped_f32"),
        _of_elements(floats.raised, 4),
        *(_of_elements(one) for one in (floats.logistic, floats.tanh, floats.elu)),
        *(_of_elements(one, 4) for one in (floats.absolute, floats.negative, floats.square)),
        _of_elements(floats.hard_swish, 4),
        *(_of_elements(one) for one in (floats.root, floats.reciprocal_root, floats.exponential, floats.logarithm)),
        *(_of_elements(one) for one in (floats.floor, floats.ceiling, floats.rounded, floats.from_s32, floats.to_s32)),
        LibraryKernel("tmo_softmax_f32", floats.softmax, SOFTMAX_F32),
        LibraryKernel("tmo_log_softmax_f32", floats.log_softmax, SOFTMAX_F32),
    ),
    "float_windows": (
        LibraryKernel(
            "matmul_f32",
            scheduled(batch_matmul_f32, [bind({"rows": 1}), jam("n", 4)]),
            {name: given for name, given in MATMUL_F32.items() if name not in {"down", "across"}},
            _inlined("int32_t down, int32_t across"),
            calls={
                HEAD.format("tmo_matmul_f32"): "k, window, out, 1, 0",
                HEAD.format("tmo_transposed_matmul_f32"): "k, window, out, 0, 1",
            },
        ),
        LibraryKernel(
            "tmo_depthwise_f32",
            scheduled(float_windows.conv_f32, [bind({"each": 1, "channels": 1, "filter_weights": 1}), jam("g", 4)]),
            CONV_F32 | {"groups": "k->in_channels / 4"},
            PIXEL,
        ),
        LibraryKernel("tmo_conv_f32", scheduled(float_windows.conv_f32, [jam("j", 4)]), CONV_F32, PIXEL),
        LibraryKernel(
            "tmo_conv_runs_f32",
            scheduled(float_windows.conv_f32, [bind({"groups": 1}), jam("j", 4)]),
            CONV_RUNS_F32,
            RUNS_OF_ELEMENTS,
        ),
        LibraryKernel(
            "extreme_pool_f32",
            scheduled(float_windows.extreme_pool_f32, [jam("c", 4)]),
            POOL_F32,
            SIGNED,
            calls=_signed("tmo_max_pool_f32", "tmo_min_pool_f32", *FLOAT_SIGNS),
        ),
        LibraryKernel(
            "tmo_average_pool_f32", scheduled(float_windows.average_pool_f32, [jam("c", 4)]), POOL_F32, PIXEL
        ),
    ),
    "int32": tuple(
        _of_elements(one)
        for one in (floats.add_s32, floats.subtract_s32, floats.multiply_s32, floats.maximum_s32, floats.minimum_s32)
    ),
    "compare": tuple(_of_elements(one) for one in (*floats.comparisons_f32, *floats.comparisons_s32)),
    "places": tuple(
        LibraryKernel(
            f"place_{kind.short}",
            scheduled(place_pixel(kind), [jam("c", 4)]),
            given,
            SIGNED,
            calls=_signed(f"tmo_place_of_greatest_{suffix}", f"tmo_place_of_smallest_{suffix}", *signs),
        )
        for kind, suffix, given, signs in (
            (Type.INT8, "s8", PLACE, ("1", "-1")),
            (Type.FLOAT32, "f32", PLACE_F32, FLOAT_SIGNS),
        )
    ),
    "ref": (
        LibraryKernel("tmo_leaky_relu_s16", elementwise.leaky_relu_s16, _elements(2) | _scales("positive", "negative")),
        LibraryKernel(
            "tmo_arg_max_s8",
            scheduled(arg_max, [unroll("c", 4)]),
            PIXELS_OF | {"channels": "k->in_channels", "step": "(k->op->smallest ? 1 : -1) * (int32_t)TMO_MAX_PLACES"},
        ),
        LibraryKernel("tmo_resize_bilinear_row_s8", resize_bilinear, RESIZE),
        *(
            LibraryKernel(
                f"tmo_{order}_{suffix}",
                scheduled(product, [bind({"rows": 1, "down": down, "across": 1 - down}), jam("n", columns)]),
                given,
            )
            for product, suffix, columns, given in (
                (batch_matmul, "s8", 4, MATMUL),
                (batch_matmul_s16, "s16", 2, MATMUL_S16),
            )
            for order, down in (("product", 1), ("transposed_product", 0))
        ),
        LibraryKernel(
            "tmo_gather_pixel_s8",
            scheduled(gather, [bind({"pixels": 1}), vectorise("c")]),
            {"index": "(const int8_t *)&row", "y": "y", "channels": "k->out_channels", "table": "k->weights"},
            GATHER,
        ),
    ),
    "conv": (
        LibraryKernel(
            "tmo_conv_sums",
            scheduled(conv_sums, [unroll("b", 8, 4, 3), inward("c")]),
            CONV,
            RUNS,
            many=scheduled(conv_sums, [unroll("b", 16, 4, 3), inward("c")]),
        ),
    ),
    "conv16": (
        LibraryKernel("tmo_conv_s16", scheduled(conv_wide, [jam("j", 2)]), WIDE, PIXEL),
        LibraryKernel(
            "tmo_depthwise_s16",
            scheduled(conv_wide, [bind({"each": 1, "channels": 1, "filter_weights": 1}), jam("g", 2)]),
            WIDE | {"groups": "k->in_channels / 2"},
            PIXEL,
        ),
    ),
    "runs16": (
        LibraryKernel("tmo_conv_runs_s16", scheduled(conv_wide, [bind({"groups": 1})]), WIDE_RUNS, RUNS_OF_ELEMENTS),
    ),
    "depthwise": (
        LibraryKernel(
            "tmo_depthwise_sums",
            scheduled(depthwise_sums, [bind({"spread": 1}), jam("c", 4)]),
            WINDOW,
            SUMS,
            many=scheduled(depthwise_sums, [bind({"spread": 1}), jam("c", 8, 4)]),
        ),
        LibraryKernel(
            "tmo_depthwise_repeated", scheduled(depthwise_sums, [bind({"spread": 0}), jam("c", 2)]), WINDOW, SUMS
        ),
    ),
    "pool": (
        *(
            LibraryKernel(name, scheduled(max_pool_pixel(Type.INT8, sign), [jam("c", 4)]), POOL, PIXEL)
            for name, sign in (("tmo_max_pool", 1), ("tmo_min_pool", -1))
        ),
        LibraryKernel("tmo_average_pool", scheduled(average_pool_pixel(Type.INT8), [jam("c", 4)]), POOL, PIXEL),
        LibraryKernel("tmo_mean", scheduled(mean_pixel(Type.INT8), [jam("c", 4)]), POOL, PIXEL),
    ),
    "pool16": (
        LibraryKernel("tmo_max_pool_s16", scheduled(max_pool_pixel(Type.INT16), [jam("c", 4)]), POOL_S16, PIXEL),
        LibraryKernel(
            "tmo_average_pool_s16", scheduled(average_pool_pixel(Type.INT16), [jam("c", 4)]), POOL_S16, PIXEL
        ),
        LibraryKernel(
            "tmo_mean_s16",
            scheduled(mean_pixel(Type.INT16), [bind({"zero_in": 0, "zero_out": 0}), jam("c", 4)]),
            POOL_S16,
            PIXEL,
        ),
    ),
}
"""Maps NAME to the kernels in the file tmo_generated_NAME.c."""
