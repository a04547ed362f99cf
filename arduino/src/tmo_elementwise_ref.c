#include <string.h>

#include "tmo/build.h"
#include "tmo/kernels.h"

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

/* The same of int16, without zero points. TFLM: AddElementwise, kernels/internal/reference/add.h. */
static void add_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int32_t low = (int16_t)(k->op->param & 0xFFFF), high = k->op->param >> 16;
  const uint32_t bytes = k->out_width * k->out_channels;
  for (uint32_t i = 0; i < bytes; i += 2) {
    int32_t sum = 0;
    for (uint32_t operand = 0; operand < 2; ++operand) {
      int16_t x;
      memcpy(&x, window->pixels[operand] + i, sizeof x);
      sum = tmo_wrapping_add(sum, tmo_rescale(x * (1 << 15), k->multipliers[operand], k->shifts[operand]));
    }
    const int32_t scaled = tmo_rescale(sum, k->multipliers[2], k->shifts[2]);
    const int16_t y = (int16_t)(scaled < low ? low : scaled > high ? high : scaled);
    memcpy(out + i, &y, sizeof y);
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

void tmo_binary_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  switch (k->op->kind) {
    TMO_CASE_KIND(TMO_OP_ADD, for_each(k, window, out, add));
    TMO_CASE_KIND(TMO_OP_ADD_S16, add_s16(k, window, out));
    TMO_CASE_KIND(TMO_OP_SUB, for_each(k, window, out, subtract));
    TMO_CASE_KIND(TMO_OP_MUL, for_each(k, window, out, multiply));
    TMO_CASE_KIND(TMO_OP_MAXIMUM, for_each(k, window, out, maximum));
    TMO_CASE_KIND(TMO_OP_MINIMUM, for_each(k, window, out, minimum));
    TMO_CASE_KIND(TMO_OP_SQUARED_DIFFERENCE, for_each(k, window, out, square_difference));
    default: if (tmo_has_kind(TMO_OP_PRELU)) for_each(k, window, out, prelu);
  }
}

void tmo_lookup_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const int8_t *x = window->pixels[0], *table = k->weights - INT8_MIN;
  const uint32_t n = k->out_width * k->out_channels;
  for (uint32_t i = 0; i < n; ++i) out[i] = table[x[i]];
}
