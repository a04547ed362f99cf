#include <stddef.h>

#include "tmo/kernels.h"

static uint32_t dot(const int8_t *x, const int8_t *w, uint32_t n, int32_t zero) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < n; ++i) sum += (uint32_t)((x[i] - zero) * w[i]);
  return sum;
}

/* The part of one input row; ky: its tap, w: that tap's weights of an output channel. */
static uint32_t row_sum(const tmo_kernel *k, const int8_t *row, const int8_t *w, uint16_t x) {
  const tmo_op *op = k->op;
  const uint32_t padded = (uint32_t)x + op->pad_left;
  uint32_t sum = 0;
  for (uint32_t in = padded / op->stride_w, kx = padded % op->stride_w; kx < op->kernel_w; kx += op->stride_w) {
    if (in < k->in_width) sum += dot(row + in * k->in_channels, w + kx * k->in_channels, k->in_channels, op->input_zero_point[0]);
    if (in-- == 0) break;
  }
  return sum;
}

/* One output row, gathered; TFLM scatters: TransposeConv, kernels/internal/reference/integer_ops/transpose_conv.h. */
void tmo_transpose_conv_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  const tmo_op *op = k->op;
  const uint32_t tap_row = op->kernel_w * k->in_channels;
  for (uint16_t x = 0; x < k->out_width; ++x) {
    for (uint32_t c = 0; c < k->out_channels; ++c, ++out) {
      const int8_t *weights = k->weights + (uint32_t)op->kernel_h * tap_row * c;
      uint32_t sum = k->bias ? (uint32_t)k->bias[c] : 0;
      for (uint16_t r = 0; r < window->count; ++r) {
        const int32_t ky = (int32_t)k->row + op->pad_top - (k->first_row + r) * (int32_t)op->stride_h;
        if (window->pixels[r] == NULL || ky >= op->kernel_h) continue; /* never negative */
        sum += row_sum(k, window->pixels[r], weights + (uint32_t)ky * tap_row, x);
      }
      *out = tmo_channel_output(k, c, sum);
    }
  }
}
