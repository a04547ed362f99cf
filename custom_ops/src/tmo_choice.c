/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of this file select a generated kernel from the fields of the operator, and call it. */
#include "tmo/dsp.h"
#include "tmo/elements.h"
#include "tmo/kernels.h"

#if !TMO_CORE_DSP /* tmo_conv16_dsp.c and tmo_matmul_dsp.c define these functions for the DSP extension. */

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

/* Computes n bytes of a MAXIMUM or MINIMUM operator. A step is 1, or 0 if the operand repeats the same four bytes. */
TMO_OWN_FRAME static void greater_run(const int8_t *x, uint32_t x_step, const int8_t *other, uint32_t other_step, int8_t *out, uint32_t n, bool smaller) {
#if TMO_CORE_DSP
  const int32_t inverted = smaller ? -1 : 0; /* the greater of two inverted bytes is the inverse of the smaller byte */
  for (; n >= 4; n -= 4, x += 4 * x_step, other += 4 * other_step, out += 4) {
    tmo_put_int32(out, tmo_greater_bytes(tmo_word(x) ^ inverted, tmo_word(other) ^ inverted) ^ inverted);
  }
#else
  if ((x_step & other_step) != 0) {
    (smaller ? tmo_smallest_s8 : tmo_greatest_s8)(NULL, x, other, out, n);
    return;
  }
#endif
  for (; n > 0; --n, x += x_step, other += other_step) *out++ = (*x > *other) != smaller ? *x : *other;
}

/* Computes n bytes of a MAXIMUM_S16 or MINIMUM_S16 operator, with the same steps as greater_run(). */
TMO_OWN_FRAME static void greater_run_s16(const int8_t *x, uint32_t x_step, const int8_t *other, uint32_t other_step, int8_t *out, uint32_t n, bool smaller) {
#if TMO_CORE_DSP
  const int32_t inverted = smaller ? -1 : 0;
  for (; n >= 4; n -= 4, x += 4 * x_step, other += 4 * other_step, out += 4) {
    tmo_put_int32(out, tmo_greater_halves(tmo_word(x) ^ inverted, tmo_word(other) ^ inverted) ^ inverted);
  }
#endif
  for (; n > 0; n -= 2, x += 2 * x_step, other += 2 * other_step, out += 2) {
    const int32_t a = tmo_int16_at(x), b = tmo_int16_at(other);
    tmo_put_int16(out, (a > b) != smaller ? a : b);
  }
}

/* Computes an output row of MAXIMUM or MINIMUM. If possible, the function computes all pixels of the row at once. */
static TMO_ALWAYS_INLINE void greater_row(const tmo_kernel *k, const tmo_window *window, int8_t *out, bool smaller, bool wide) {
  const int8_t *x = window->pixels[0], *other = window->pixels[1];
  const uint32_t *const steps = k->channel_step;
  uint32_t pixels = k->out_width, n = k->out_channels;
  if (k->pixel_step[0] == n * steps[0] && k->pixel_step[1] == n * steps[1]) {
    n *= pixels;
    pixels = 1;
  }
  for (; pixels > 0; --pixels, x += k->pixel_step[0], other += k->pixel_step[1], out += n) {
    const uint32_t repeated[2] = {wide ? 0x00010001u * (uint16_t)tmo_int16_at(x) : 0x01010101u * (uint8_t)*x,
                                  wide ? 0x00010001u * (uint16_t)tmo_int16_at(other) : 0x01010101u * (uint8_t)*other};
    const int8_t *const words = (const int8_t *)repeated;
    (wide ? greater_run_s16 : greater_run)(steps[0] != 0 ? x : words, steps[0], steps[1] != 0 ? other : words + 4, steps[1], out, n, smaller);
  }
}

void tmo_greater_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  greater_row(k, window, out, tmo_is_kind(k->op, TMO_OP_MINIMUM), false);
}

void tmo_greater_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  greater_row(k, window, out, tmo_is_kind(k->op, TMO_OP_MINIMUM_S16), true);
}
