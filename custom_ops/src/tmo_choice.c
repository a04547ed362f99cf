/* SPDX-License-Identifier: Apache-2.0 */
/* Each kernel of this file calls the generated kernel that the operator's fields select. */
#include "tmo/kernels.h"

#if !TMO_CORE_DSP /* tmo_conv16_dsp.c, tmo_matmul_dsp.c */

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

/* Computes MAXIMUM and MINIMUM. If no channel is repeated, a faster kernel computes a pixel or the whole row at once. */
void tmo_greater_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  tmo_make_elements *const make = tmo_is_kind(k->op, TMO_OP_MINIMUM) ? tmo_smallest_s8 : tmo_greatest_s8;
  const int8_t *x = window->pixels[0], *other = window->pixels[1];
  uint32_t pixels = k->out_width, n = k->out_channels;
  if (k->channel_step[0] == 0 || k->channel_step[1] == 0) {
    tmo_greater_repeated_s8(k, window, out);
    return;
  }
  if (k->pixel_step[0] == n && k->pixel_step[1] == n) {
    n *= pixels;
    pixels = 1;
  }
  for (; pixels > 0; --pixels, x += k->pixel_step[0], other += k->pixel_step[1], out += n) make(k->op, x, other, out, n);
}
