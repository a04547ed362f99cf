#include "tmo/kernels.h"

/* Taps of one row, for one channel. Steps are in bytes, from tap to tap. */
static uint32_t taps_dot(const int8_t *x, uint32_t x_step, const int8_t *w, uint32_t w_step, uint32_t n, int32_t zero_point) {
  uint32_t sum = 0;
  for (; n > 0; --n, x += x_step, w += w_step) sum += (uint32_t)((int32_t)*w * (*x - zero_point));
  return sum;
}

/* All taps, for input channel ic and the output channel whose first weight is at w. */
static uint32_t rows_dot(const tmo_kernel *k, const tmo_window *v, uint32_t ic, const int8_t *w, uint32_t kernel_row) {
  const uint32_t x_step = k->op->dilation_w * k->in_channels, x = v->offset + ic;
  uint32_t sum = 0;
  for (uint32_t r = 0; r < v->count; ++r) {
    sum += taps_dot(v->pixels[r] + x, x_step, w + r * kernel_row, k->tap_step, v->columns, k->op->input_zero_point[0]);
  }
  return sum;
}

static uint32_t pixels_dot(const tmo_kernel *k, const tmo_window *v, uint32_t ic, const int8_t *w, uint32_t kernel_row) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < v->count; w += kernel_row) {
    for (uint32_t c = 0; c < v->columns; ++c) {
      sum += taps_dot(v->pixels[i++] + ic, 0, w + c * k->tap_step, 0, 1, k->op->input_zero_point[0]);
    }
  }
  return sum;
}

/* One output pixel; its channels are outputs i, i + 1, .. Channel ic * multiplier + m reads channel ic.
 * TFLM: DepthwiseConvPerChannel, kernels/internal/reference/integer_ops/depthwise_conv.h. */
static void depthwise(const tmo_kernel *k, tmo_window v, uint32_t i, int8_t *out) {
  const uint32_t multiplier = k->out_channels / k->in_channels;
  const bool by_row = k->op->tile == 0;
  const uint32_t kernel_row = k->op->kernel_w * k->tap_step;
  const int8_t *w = k->weights + tmo_first_tap(k, &v);
  uint32_t oc = 0;
  for (uint32_t ic = 0; ic < k->in_channels; ++ic) {
    for (uint32_t m = 0; m < multiplier; ++m, ++oc, ++i) {
      uint32_t sum = tmo_sum_begin(k, i, k->bias ? (uint32_t)k->bias[oc] : 0);
      sum += by_row ? rows_dot(k, &v, ic, w + oc, kernel_row) : pixels_dot(k, &v, ic, w + oc, kernel_row);
      if (tmo_sum_end(k, i, sum)) out[i] = tmo_channel_output(k, oc, sum);
    }
  }
}

void tmo_depthwise_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  for (uint16_t x = 0; x < k->out_width; ++x) {
    depthwise(k, tmo_column(k, window, x), x * k->out_channels, out);
  }
}

void tmo_depthwise_pixel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { depthwise(k, *window, 0, out); }
