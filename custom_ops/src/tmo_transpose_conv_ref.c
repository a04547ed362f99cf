/* SPDX-License-Identifier: Apache-2.0 */
/* This file computes each output pixel of a transposed convolution from the input pixels that it needs. TFLM's function TransposeConv in
 * kernels/internal/reference/integer_ops/transpose_conv.h instead adds each input pixel to several output pixels. */
#include <stddef.h>

#include "tmo/kernels.h"

/* Returns the input bytes whose products are added up for output column x. Each part is one column of taps, with a run of bytes for each input row.
 * `bytes` is the size of an element. `w` is set to the weights of the first part. */
static tmo_runs runs_under(const tmo_kernel *k, const tmo_window *rows, uint32_t x, uint32_t bytes, const int8_t **w) {
  const tmo_op *op = k->op;
  const uint32_t channels = k->in_channels / bytes, row = op->kernel_w * channels, padded = x + op->pad_left;
  uint32_t column = padded / op->stride_w, tap = padded % op->stride_w, taps = 0, first = 0, n = 0;
  int32_t ky = (int32_t)k->row + op->pad_top - k->first_row * (int32_t)op->stride_h;
  for (; column >= k->in_width && tap < op->kernel_w; --column) tap += op->stride_w;
  while (tap + taps * op->stride_w < op->kernel_w && taps <= column) ++taps;
  for (; first < rows->count && (rows->pixels[first] == NULL || ky >= op->kernel_h); ++first) ky -= op->stride_h;
  while (first + n < rows->count && rows->pixels[first + n] != NULL && (int32_t)(n * op->stride_h) <= ky) ++n;
  *w = k->weights + (n > 0 ? (uint32_t)ky * row : 0) + (taps > 0 ? tap * channels : 0);
  return (tmo_runs){rows->pixels + first, 1, (uint16_t)n, (uint16_t)taps, 0, 0u - channels, op->stride_w * channels, column * channels,
                    channels, 1, 0u - op->stride_h * row, op->kernel_h * row, op->input_zero_point[0]};
}

void tmo_transpose_conv_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  for (uint32_t x = 0; x < k->out_width; ++x, out += k->out_channels) {
    const int8_t *w;
    const tmo_runs r = runs_under(k, window, x, 1, &w);
    for (uint32_t n, c = 0; c < k->out_channels; c += n, w += n * r.filter) {
      uint32_t sums[TMO_STACK_SUMS];
      n = k->out_channels - c < TMO_STACK_SUMS ? k->out_channels - c : TMO_STACK_SUMS;
      tmo_begin_sums(k, sums, n, c, 0);
      tmo_add_products(&r, w, n, sums);
      tmo_end_sums(k, sums, n, c, c, out);
    }
  }
}

void tmo_transpose_conv_row_s16(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  for (uint32_t x = 0; x < k->out_width; ++x, out += k->out_channels) {
    const int8_t *w;
    const tmo_runs r = runs_under(k, window, x, 2, &w);
    tmo_conv_runs_s16(k, &r, w, out);
  }
}
