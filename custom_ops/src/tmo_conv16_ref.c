/* SPDX-License-Identifier: Apache-2.0 */
#include "tmo/kernels.h"

void tmo_conv_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_make_row(k, window, out, tmo_conv_s16); }

void tmo_conv_pixel_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) { tmo_conv_s16(k, window, 0, out); }

void tmo_batch_matmul_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  (k->op->transposed ? tmo_transposed_product_s8 : tmo_product_s8)(k, window, out);
}

void tmo_batch_matmul_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  (k->op->transposed ? tmo_transposed_product_s16 : tmo_product_s16)(k, window, out);
}

void tmo_curve_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  (k->op->tangent ? tmo_tanh_s16 : tmo_logistic_s16)(k, window, out);
}
