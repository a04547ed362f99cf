/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this file select the kernel for the function of a float32 operator. */
#include <stddef.h>

#include "tmo/elements.h"
#include "tmo/floats.h"
#include "tmo/kernels.h"

/* If tmo_float_divisor() is inlined, GCC 12 for a Cortex-M55 uses an instruction that the assembler rejects. */
TMO_OWN_FRAME uint32_t tmo_float_divisor(const tmo_op *op, uint32_t area) { return tmo_is_kind(op, TMO_OP_SUM_F32) ? 1u : area; }

static tmo_make_pixel *conv_of(const tmo_kernel *k) {
  return tmo_is_kind(k->op, TMO_OP_DEPTHWISE_F32) && k->in_channels == k->out_channels ? tmo_depthwise_f32 : tmo_conv_f32;
}

void tmo_conv_row_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, conv_of(k)); }

void tmo_conv_pixel_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) { conv_of(k)(k, window, 0, out); }

void tmo_batch_matmul_row_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  (k->op->transposed ? tmo_transposed_matmul_f32 : tmo_matmul_f32)(k, window, out);
}

/* Like TFLM's function TransposeConv (kernels/internal/reference/transpose_conv.h), this function adds products row by row and column by column. */
void tmo_transpose_conv_row_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_op *op = k->op;
  const uint32_t channels = k->in_channels / 4, row = op->kernel_w * channels;
  int32_t ky = (int32_t)k->row + op->pad_top - k->first_row * (int32_t)op->stride_h;
  uint32_t first = 0, n = 0;
  for (; first < window->count && (window->pixels[first] == NULL || ky >= op->kernel_h); ++first) ky -= op->stride_h;
  while (first + n < window->count && window->pixels[first + n] != NULL && (int32_t)(n * op->stride_h) <= ky) ++n;
  for (uint32_t x = 0; x < k->out_width; ++x, out += k->out_channels) {
    const uint32_t padded = x + op->pad_left, last = padded / op->stride_w;
    const uint32_t column = padded < op->kernel_w ? 0 : (padded - op->kernel_w) / op->stride_w + 1;
    const uint32_t end = last < k->in_width ? last + 1 : k->in_width, taps = column < end ? end - column : 0;
    const tmo_runs r = {window->pixels + first, 1, (uint16_t)n, (uint16_t)taps, 0, channels, 0u - op->stride_w * channels, column * channels,
                        channels, 1, 0u - op->stride_h * row, op->kernel_h * row, 0};
    const uint32_t tap = n > 0 && taps > 0 ? (uint32_t)ky * row + (padded - column * op->stride_w) * channels : 0;
    tmo_conv_runs_f32(k, &r, k->weights + 4 * tap, out);
  }
}

static tmo_make_pixel *pool_of_f32(const tmo_op *op) {
  if (tmo_is_kind(op, TMO_OP_AVERAGE_POOL_F32) || tmo_is_kind(op, TMO_OP_SUM_F32)) return tmo_average_pool_f32;
  return tmo_is_kind(op, TMO_OP_MIN_POOL_F32) || !tmo_has_kind(TMO_OP_MAX_POOL_F32) ? tmo_min_pool_f32 : tmo_max_pool_f32;
}

void tmo_pool_row_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, pool_of_f32(k->op)); }

void tmo_pool_pixel_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) { pool_of_f32(k->op)(k, window, 0, out); }

/* The two input coordinates next to an output coordinate along one axis, and the distance from the first input coordinate. */
typedef struct {
  uint32_t low, high;
  float part;
} neighbours;

/* TFLM's function ComputeInterpolationValues (kernels/internal/reference/resize_bilinear.h) computes the same position as neighbours_of(). The
 * position of an output coordinate is greater than -1 and less than `in`, the size of the input. */
static neighbours neighbours_of(const tmo_op *op, uint32_t at, uint32_t in, uint32_t out) {
  const uint32_t less = op->resize_form == TMO_RESIZE_CORNERS && out > 1 ? 1 : 0;
  const float scale = (float)(in - less) / (float)(out - less), x = (float)at;
  const float position = op->resize_form == TMO_RESIZE_CENTERS ? (x + 0.5f) * scale - 0.5f : x * scale;
  const uint32_t low = (uint32_t)(int32_t)position, high = (float)low < position ? low + 1 : low;
  const neighbours found = {low < in ? low : in - 1, high < in ? high : in - 1, position - (float)low};
  return found;
}

/* Interpolates one channel between four pixels. TFLM adds a rounding offset of 0, which turns -0 into 0. */
static TMO_ALWAYS_INLINE float between(float top_left, float bottom_left, float top_right, float bottom_right, float down, float forth) {
  const float up = 1 - down, back = 1 - forth;
  return top_left * up * back + bottom_left * down * back + top_right * up * forth + bottom_right * down * forth + 0.0f;
}

void tmo_resize_bilinear_row_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const neighbours y = neighbours_of(k->op, k->row, k->op->rows_in, k->op->rows_out);
  const int8_t *const top = window->pixels[0], *const bottom = y.high > y.low && window->pixels[1] != NULL ? window->pixels[1] : top;
  const bool aligned = ((uintptr_t)top | (uintptr_t)bottom | (uintptr_t)out) % sizeof(float) == 0;
  for (uint32_t x = 0; x < k->out_width; ++x) {
    const neighbours columns = neighbours_of(k->op, x, k->in_width, k->out_width);
    const uint32_t left = columns.low * k->out_channels, right = columns.high * k->out_channels;
    const int8_t *a = top + left, *b = bottom + left, *c = top + right, *d = bottom + right;
    const int8_t *const end = out + k->out_channels;
    if (aligned) { /* on cores with an FPU, a loop over aligned elements takes fewer instructions than the loop below */
      const float *af = (const float *)(const void *)a, *bf = (const float *)(const void *)b, *cf = (const float *)(const void *)c;
      const float *df = (const float *)(const void *)d;
      for (float *to = (float *)(void *)out; to != (const float *)(const void *)end;) *to++ = between(*af++, *bf++, *cf++, *df++, y.part, columns.part);
      out += k->out_channels;
      continue;
    }
    for (; out != end; a += 4, b += 4, c += 4, d += 4, out += 4) {
      tmo_put_float32(out, between(tmo_float32_at(a), tmo_float32_at(b), tmo_float32_at(c), tmo_float32_at(d), y.part, columns.part));
    }
  }
}

enum { COPIED = 12 }; /* number of elements that are copied to the stack at once */

/* The position of an operand's elements while a row is computed. */
typedef struct {
  const int8_t *at;        /* address of the next pixel */
  uint32_t pixel, element; /* distances in bytes between pixels and between elements; the distance 0 repeats the pixel or the element */
  bool copied;             /* whether the elements must be copied, because they are not aligned or not adjacent */
} side;

static bool is_aligned(const void *at) { return (uintptr_t)at % sizeof(int32_t) == 0; }

static TMO_ALWAYS_INLINE side side_of(const tmo_kernel *k, const tmo_window *window, uint32_t i) {
  const int8_t *const at = window->pixels[i];
  const side o = {at, k->pixel_step[i], 4 * k->channel_step[i], k->channel_step[i] == 0 || k->pixel_step[i] % 4 != 0 || !is_aligned(at)};
  return o;
}

/* Returns the address of n aligned and adjacent elements of an operand's pixel, beginning with element i. If the operand repeats a single element,
 * only the first call for a pixel copies the element. */
static const void *elements_of(const side *o, uint32_t i, uint32_t n, int32_t *room) {
  const int8_t *from = o->at + i * o->element;
  if (!o->copied) return from;
  if (o->element == 0 && i > 0) return room;
  for (uint32_t c = 0; c < n; ++c, from += o->element) room[c] = tmo_int32_at(from);
  return room;
}

/* Computes a row in pieces of at most COPIED elements. For each piece, the function first copies the elements of the operands to the stack. */
TMO_OWN_FRAME static void make_copied(const tmo_op *op, side *x, side *other, int8_t *out, uint32_t bytes, uint32_t pixels, uint32_t n, tmo_make_elements *make) {
  int32_t left[COPIED], right[COPIED], made[COPIED];
  for (; pixels > 0; --pixels, x->at += x->pixel, other->at += other->pixel) {
    for (uint32_t i = 0, run; i < n; i += run, out += run * bytes) {
      run = n - i < COPIED ? n - i : COPIED;
      make(op, elements_of(x, i, run, left), elements_of(other, i, run, right), made, run);
      memcpy(out, made, run * bytes);
    }
  }
}

/* Computes an output row from two operands, with a kernel that needs adjacent, aligned elements. The argument `bytes` is the size of an output
 * element in bytes. */
static void make_elements(const tmo_kernel *k, const tmo_window *window, int8_t *out, uint32_t bytes, tmo_make_elements *make) {
  uint32_t pixels = k->out_width, n = k->out_channels / bytes;
  const bool copies_out = bytes == sizeof(int32_t) && !is_aligned(out);
  side x = side_of(k, window, 0), other = side_of(k, window, 1);
  /* LEAKY_RELU reads only one element of its second operand */
  if (tmo_is_kind(k->op, TMO_OP_ARITHMETIC_F32) && make == tmo_leaky_relu_f32) other.copied = !is_aligned(other.at);
  if (x.pixel == n * x.element && other.pixel == n * other.element) {
    n *= pixels;
    pixels = 1;
  }
  if (x.copied || other.copied || copies_out) {
    make_copied(k->op, &x, &other, out, bytes, pixels, n, make);
    return;
  }
  for (; pixels > 0; --pixels, x.at += x.pixel, other.at += other.pixel, out += n * bytes) make(k->op, x.at, other.at, out, n);
}

static void map_elements(const tmo_kernel *k, const tmo_window *window, int8_t *out, tmo_make_elements *make) {
  const int8_t *const from = window->pixels[0];
  const uint32_t n = k->out_width * k->out_channels / 4;
  if (is_aligned(from) && is_aligned(out)) {
    make(k->op, from, from, out, n);
    return;
  }
  side x = {from, 0, 4, !is_aligned(from)}, other = x;
  make_copied(k->op, &x, &other, out, 4, 1, n, make);
}

/* Replaces infinities by the largest finite values. One comparison for four results takes fewer instructions than four comparisons. */
TMO_OWN_FRAME static void make_finite(float *y, uint32_t n) {
  const float most = 3.40282347e+38f;
  for (uint32_t next; n > 0; y += next, n -= next) {
    next = n < 4 ? 1 : 4;
    const float none = next == 1 ? y[0] - y[0] : (y[0] - y[0]) + (y[1] - y[1]) + (y[2] - y[2]) + (y[3] - y[3]);
    if (none == 0) continue;
    for (uint32_t i = 0; i < next; ++i) y[i] = y[i] > most ? most : y[i] < -most ? -most : y[i];
  }
}

static void add_finite(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  tmo_sum_f32(op, a, b, out, n);
  make_finite((float *)out, n);
}

static void subtract_finite(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  tmo_difference_f32(op, a, b, out, n);
  make_finite((float *)out, n);
}

static void multiply_finite(const tmo_op *op, const void *a, const void *b, void *out, uint32_t n) {
  tmo_product_f32(op, a, b, out, n);
  make_finite((float *)out, n);
}

/* Each array has the kernels of one kind of operator, in the order of TMO_FUNCTION_*. tmo_check() has ensured that the array contains the operator's
 * function. */
static tmo_make_elements *const arithmetic[] = {tmo_add_f32,     tmo_subtract_f32,          tmo_multiply_f32, tmo_maximum_f32,
                                                tmo_minimum_f32, tmo_square_difference_f32, tmo_prelu_f32,    tmo_leaky_relu_f32};
static tmo_make_elements *const finite_arithmetic[] = {add_finite, subtract_finite, multiply_finite};
/* The functions in the array `rare` need fmodf() or double, and are linked only into firmware that uses the functions. */
static tmo_make_elements *const rare[] = {tmo_divide_f32,   tmo_floor_divide_f32, tmo_floor_modulo_f32, tmo_add_s32,
                                          tmo_subtract_s32, tmo_multiply_s32,     tmo_maximum_s32,      tmo_minimum_s32};
static tmo_make_elements *const comparisons[] = {tmo_equal_f32, tmo_not_equal_f32, tmo_less_f32, tmo_less_equal_f32,
                                                 tmo_equal_s32, tmo_not_equal_s32, tmo_less_s32, tmo_less_equal_s32};
static tmo_make_elements *const curves[] = {tmo_logistic_f32, tmo_tanh_f32, tmo_elu_f32,             tmo_hard_swish_f32,
                                            tmo_abs_f32,      tmo_negative_f32, tmo_square_f32,      tmo_root_f32,
                                            tmo_reciprocal_root_f32, tmo_exponential_f32, tmo_logarithm_f32, tmo_floor_f32,
                                            tmo_ceiling_f32,  tmo_rounded_f32, tmo_from_s32,         tmo_to_s32};

void tmo_arithmetic_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const uint32_t function = tmo_float_function(k->op);
  const bool finite = tmo_float_range(k->op) == TMO_RANGE_FINITE && function <= TMO_FUNCTION_MUL;
  make_elements(k, window, out, 4, (finite ? finite_arithmetic : arithmetic)[function]);
}

void tmo_binary_32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  make_elements(k, window, out, 4, rare[tmo_float_function(k->op) - TMO_FUNCTION_DIV]);
}

void tmo_compare_32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  make_elements(k, window, out, 1, comparisons[tmo_float_function(k->op) - TMO_FUNCTION_EQUAL]);
}

void tmo_curve_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  map_elements(k, window, out, curves[tmo_float_function(k->op) - TMO_FUNCTION_LOGISTIC]);
}

void tmo_clamp_f32(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  map_elements(k, window, out, tmo_float_range(k->op) < TMO_RANGE_ALL ? tmo_clamped_f32 : tmo_raised_f32);
}

static tmo_make_pixel *arg_max_of(const tmo_op *op) {
  if (tmo_is_kind(op, TMO_OP_ARG_MAX_F32)) return op->smallest ? tmo_place_of_smallest_f32 : tmo_place_of_greatest_f32;
  return op->smallest ? tmo_place_of_smallest_s8 : tmo_place_of_greatest_s8;
}

/* The windows must be runs of adjacent, aligned float32 values. */
static TMO_ALWAYS_INLINE void place_in_runs(const tmo_kernel *k, const float *x, int8_t *out, bool smallest) {
  for (const int8_t *const end = out + 4 * k->out_width; out != end; out += 4) {
    const float *const first = x, *const after = x + k->op->kernel_w, *best = x + 1;
    for (float most = *x++; x != after;) {
      const float value = *x++;
      if (smallest ? value < most : value > most) most = value, best = x;
    }
    tmo_put_int32(out, (int32_t)(best - first) - 1);
  }
}

void tmo_arg_max_along_row(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_op *const op = k->op;
  const bool runs = tmo_is_kind(op, TMO_OP_ARG_MAX_F32) && k->in_channels == 4 && op->kernel_w == op->stride_w && op->kernel_h == 1 && op->dilation_w == 1 &&
                    k->sums == NULL && window->count == 1 && op->pad_left == 0 && k->in_width == k->out_width * op->kernel_w && is_aligned(window->pixels[0]);
  const float *const x = (const float *)(const void *)window->pixels[0];
  if (!runs) {
    tmo_make_row(k, window, out, arg_max_of(op));
  } else if (op->smallest) {
    place_in_runs(k, x, out, true);
  } else {
    place_in_runs(k, x, out, false);
  }
}

void tmo_arg_max_along_pixel(const tmo_kernel *k, const tmo_window *window, int8_t *out) { arg_max_of(k->op)(k, window, 0, out); }
