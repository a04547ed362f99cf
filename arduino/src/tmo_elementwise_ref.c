#include <string.h>

#include "tmo/build.h"
#include "tmo/kernels.h"
#include "tmo/vectors.h"

/* x(0) and x(1) are operands `first` and 1 - first of the table. */
typedef int8_t combination(const tmo_kernel *k, const int8_t x[2], uint32_t first);

static int32_t centred(const tmo_kernel *k, const int8_t x[2], uint32_t operand) { return x[operand] - k->op->input_zero_point[operand]; }

/* (x - zero point) << left, scaled. */
static int32_t scaled(const tmo_kernel *k, const int8_t x[2], uint32_t operand) {
  const int32_t shifted = (int32_t)((uint32_t)centred(k, x, operand) << k->op->param);
  return tmo_rescale(shifted, k->multipliers[operand], k->shifts[operand]);
}

static int32_t product(int32_t a, int32_t b) { return (int32_t)((uint32_t)a * (uint32_t)b); }

static int32_t difference(const tmo_kernel *k, const int8_t x[2], uint32_t first) {
  return (int32_t)((uint32_t)scaled(k, x, first) - (uint32_t)scaled(k, x, 1 - first));
}

static int8_t output(const tmo_kernel *k, int32_t value, uint32_t scale) {
  return tmo_output(k, tmo_rescale(value, k->multipliers[scale], k->shifts[scale]));
}

/* TFLM: AddFunc, kernels/internal/reference/integer_ops/add.h. */
static int8_t add(const tmo_kernel *k, const int8_t x[2], uint32_t first) {
  return output(k, tmo_wrapping_add(scaled(k, x, first), scaled(k, x, 1 - first)), 2);
}

/* TFLM: SubElementwise, kernels/internal/reference/sub.h. */
static int8_t subtract(const tmo_kernel *k, const int8_t x[2], uint32_t first) { return output(k, difference(k, x, first), 2); }

/* TFLM: SquaredDifference, micro/kernels/squared_difference.cc. */
static int8_t square_difference(const tmo_kernel *k, const int8_t x[2], uint32_t first) {
  const int32_t d = difference(k, x, first);
  return output(k, product(d, d), 2);
}

/* TFLM: MulElementwise, kernels/internal/reference/integer_ops/mul.h. */
static int8_t multiply(const tmo_kernel *k, const int8_t x[2], uint32_t first) {
  return output(k, product(centred(k, x, first), centred(k, x, 1 - first)), 0);
}

/* TFLM: Prelu, kernels/internal/reference/prelu.h. */
static int8_t prelu(const tmo_kernel *k, const int8_t x[2], uint32_t first) {
  const int32_t v = centred(k, x, first);
  return v < 0 ? output(k, product(v, centred(k, x, 1 - first)), 1) : output(k, v, 0);
}

/* TFLM: MaximumOp, MinimumOp, micro/kernels/maximum_minimum.h. */
static int8_t maximum(const tmo_kernel *k, const int8_t x[2], uint32_t first) {
  (void)k, (void)first;
  return x[0] > x[1] ? x[0] : x[1];
}

static int8_t minimum(const tmo_kernel *k, const int8_t x[2], uint32_t first) {
  (void)k, (void)first;
  return x[0] < x[1] ? x[0] : x[1];
}

static int32_t load_s16(const int8_t *x) {
  int16_t value;
  memcpy(&value, x, sizeof value);
  return value;
}

static void store_s16(int8_t *out, int32_t value, int32_t low, int32_t high) {
  const int16_t y = (int16_t)(value < low ? low : value > high ? high : value);
  memcpy(out, &y, sizeof y);
}

/* ADD and SUB of int16, without zero points. TFLM: AddElementwise, kernels/internal/reference/add.h; SubElementwise, .../sub.h. */
static void add_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_op *op = k->op;
  const bool negative = op->kind == TMO_OP_SUB_S16;
  const uint32_t subtrahend = op->flags & TMO_FLAG_SWAPPED ? 0 : 1;
  for (uint32_t x = 0; x < k->out_width; ++x) {
    for (uint32_t c = 0; c < k->out_channels; c += 2, out += 2) {
      int32_t sum = 0;
      for (uint32_t operand = 0; operand < 2; ++operand) {
        const int32_t value = load_s16(window->pixels[operand] + x * k->pixel_step[operand] + c * k->channel_step[operand]);
        const int32_t scaled = tmo_rescale(value * (1 << 15), k->multipliers[operand], k->shifts[operand]);
        sum = tmo_wrapping_add(sum, negative && operand == subtrahend ? (int32_t)(0 - (uint32_t)scaled) : scaled);
      }
      store_s16(out, tmo_rescale(sum, k->multipliers[2], k->shifts[2]), (int16_t)(op->param & 0xFFFF), op->param >> 16);
    }
  }
}

/* TFLM: QuantizeLeakyRelu, kernels/internal/reference/leaky_relu.h. */
void tmo_leaky_relu_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const uint32_t bytes = k->out_width * k->out_channels;
  for (uint32_t i = 0; i < bytes; i += 2) {
    const int32_t x = load_s16(window->pixels[0] + i);
    const uint32_t sign = x < 0 ? 1 : 0;
    store_s16(out + i, tmo_rescale(x, k->multipliers[sign], k->shifts[sign]), INT16_MIN, INT16_MAX);
  }
}

/* Compiled once for each combination. */
static inline void for_each(const tmo_kernel *k, const tmo_window *window, int8_t *out, combination *combine) {
  const uint32_t first = k->op->flags & TMO_FLAG_SWAPPED ? 1 : 0;
  const int8_t *a = window->pixels[0], *b = window->pixels[1];
  for (uint32_t i = 0; i < k->out_width; ++i, a += k->pixel_step[0], b += k->pixel_step[1]) {
    for (uint32_t c = 0; c < k->out_channels; ++c) {
      const int8_t x[2] = {a[c * k->channel_step[0]], b[c * k->channel_step[1]]};
      *out++ = combine(k, x, first);
    }
  }
}

static void add_each(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  if (!tmo_add_vectors(k, window->pixels[0], window->pixels[1], out)) for_each(k, window, out, add);
}

void tmo_binary_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  switch (k->op->kind) {
    TMO_CASE_KIND(TMO_OP_ADD, add_each(k, window, out));
    case TMO_OP_ADD_S16:
    case TMO_OP_SUB_S16: if (tmo_has_kind(TMO_OP_ADD_S16) || tmo_has_kind(TMO_OP_SUB_S16)) add_s16(k, window, out); break;
    TMO_CASE_KIND(TMO_OP_SUB, for_each(k, window, out, subtract));
    TMO_CASE_KIND(TMO_OP_MUL, for_each(k, window, out, multiply));
    TMO_CASE_KIND(TMO_OP_MAXIMUM, for_each(k, window, out, maximum));
    TMO_CASE_KIND(TMO_OP_MINIMUM, for_each(k, window, out, minimum));
    TMO_CASE_KIND(TMO_OP_SQUARED_DIFFERENCE, for_each(k, window, out, square_difference));
    default: if (tmo_has_kind(TMO_OP_PRELU)) for_each(k, window, out, prelu);
  }
}
