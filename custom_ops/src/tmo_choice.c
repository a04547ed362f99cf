/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this file select a generated kernel from the fields of the operator, and call the kernel. */
#include "tmo/dsp.h"
#include "tmo/elements.h"
#include "tmo/kernels.h"

#if !TMO_CORE_DSP /* tmo_conv16_dsp.c and tmo_matmul_dsp.c define the following functions for the DSP extension. */

void tmo_conv_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, tmo_conv_kernel_s16(k)); }

void tmo_conv_pixel_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_conv_kernel_s16(k)(k, window, 0, out); }

void tmo_batch_matmul_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  (k->op->transposed ? tmo_transposed_product_s8 : tmo_product_s8)(k, window, out);
}

void tmo_batch_matmul_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  (k->op->transposed ? tmo_transposed_product_s16 : tmo_product_s16)(k, window, out);
}

#endif

void tmo_curve_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  (k->op->tangent ? tmo_tanh_s16 : tmo_logistic_s16)(k, window, out);
}

static TMO_ALWAYS_INLINE void put_greater(const int8_t *x, const int8_t *other, int8_t *out, bool smaller, bool wide) {
  const int32_t a = wide ? tmo_int16_at(x) : *x, b = wide ? tmo_int16_at(other) : *other;
  const int32_t y = (smaller ? a < b : a > b) ? a : b;
  if (wide) {
    tmo_put_int16(out, y);
  } else {
    *out = (int8_t)y;
  }
}

#if TMO_CORE_DSP
static TMO_ALWAYS_INLINE int32_t greater_word(int32_t a, int32_t b, bool smaller, bool wide) {
  if (wide) return smaller ? tmo_lesser_halves(a, b) : tmo_greater_halves(a, b);
  return smaller ? ~tmo_greater_bytes(~a, ~b) : tmo_greater_bytes(a, b); /* min(a, b) = ~max(~a, ~b) */
}
#endif

/* Computes n bytes of a MAXIMUM or MINIMUM operator. If an operand repeats the same eight bytes, its argument `x_step` or `other_step` is 0, and
 * otherwise 1. */
static TMO_ALWAYS_INLINE void greater_run(const int8_t *x, uint32_t x_step, const int8_t *other, uint32_t other_step, int8_t *out, uint32_t n, bool smaller,
                                          bool wide) {
  const uint32_t item = wide ? 2 : 1, most = 4 * item;
  for (; n >= most; n -= most, x += most * x_step, other += most * other_step, out += most) {
#if TMO_CORE_DSP
    TMO_UNROLLED for (uint32_t i = 0; i < most; i += 4) tmo_put_int32(out + i, greater_word(tmo_word(x + i), tmo_word(other + i), smaller, wide));
#else
    TMO_UNROLLED for (uint32_t i = 0; i < most; i += item) put_greater(x + i, other + i, out + i, smaller, wide);
#endif
  }
  for (; n > 0; n -= item, x += item * x_step, other += item * other_step, out += item) put_greater(x, other, out, smaller, wide);
}

typedef void compute_run(const int8_t *x, uint32_t x_step, const int8_t *other, uint32_t other_step, int8_t *out, uint32_t n);
#define GREATER_RUN(name, smaller, wide) \
  static void name(const int8_t *x, uint32_t x_step, const int8_t *other, uint32_t other_step, int8_t *out, uint32_t n) { \
    greater_run(x, x_step, other, other_step, out, n, smaller, wide); \
  }
GREATER_RUN(greatest_s8, false, false)
GREATER_RUN(smallest_s8, true, false)
GREATER_RUN(greatest_s16, false, true)
GREATER_RUN(smallest_s16, true, true)

/* Computes an output row of MAXIMUM or MINIMUM, with all pixels at once if possible. */
static void greater_row(const tmo_kernel *k, const tmo_window *window, int8_t *out, bool wide, compute_run *run) {
  const int8_t *x = window->pixels[0], *other = window->pixels[1];
  const uint32_t *const steps = k->channel_step;
  uint32_t pixels = k->out_width, n = k->out_channels;
  if (k->pixel_step[0] == n * steps[0] && k->pixel_step[1] == n * steps[1]) {
    n *= pixels;
    pixels = 1;
  }
  for (; pixels > 0; --pixels, x += k->pixel_step[0], other += k->pixel_step[1], out += n) {
    const uint32_t first = wide ? 0x00010001u * (uint16_t)tmo_int16_at(x) : 0x01010101u * (uint8_t)*x;
    const uint32_t second = wide ? 0x00010001u * (uint16_t)tmo_int16_at(other) : 0x01010101u * (uint8_t)*other;
    const uint32_t repeated[4] = {first, first, second, second};
    const int8_t *const words = (const int8_t *)repeated;
    run(steps[0] != 0 ? x : words, steps[0], steps[1] != 0 ? other : words + 8, steps[1], out, n);
  }
}

void tmo_greater_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  greater_row(k, window, out, false, tmo_is_kind(k->op, TMO_OP_MINIMUM) ? smallest_s8 : greatest_s8);
}

void tmo_greater_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  greater_row(k, window, out, true, tmo_is_kind(k->op, TMO_OP_MINIMUM_S16) ? smallest_s16 : greatest_s16);
}
