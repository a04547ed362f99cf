#include "tmo/kernels.h"

/* The taps of one row, for one channel. Steps are in bytes, from tap to tap. */
static uint32_t taps_dot(const int8_t *x, uint32_t x_step, const int8_t *w, uint32_t w_step, uint32_t n, int32_t zero_point) {
  uint32_t sum = 0;
  for (; n > 0; --n, x += x_step, w += w_step) sum += (uint32_t)((int32_t)*w * (*x - zero_point));
  return sum;
}

/* TFLM: DepthwiseConvPerChannel, kernels/internal/reference/integer_ops/depthwise_conv.h: channel ic * multiplier + m reads channel ic. */
void tmo_depthwise_row_s8(const tmo_kernel *k, const int8_t *const rows[], int8_t *out) {
  const uint32_t multiplier = k->out_channels / k->in_channels;
  const uint32_t kernel_row = k->op->kernel_w * k->out_channels;
  const uint32_t x_step = k->op->dilation_w * k->in_channels;
  const int32_t zero_point = k->op->input_zero_point[0];
  uint32_t i = 0;
  for (uint16_t x = 0; x < k->out_width; ++x) {
    const tmo_taps taps = tmo_columns(k, x);
    const int8_t *w = k->weights + k->first_tap * kernel_row + taps.first * k->out_channels;
    for (uint32_t ic = 0; ic < k->in_channels; ++ic) {
      const uint32_t pixel = taps.start * k->in_channels + ic;
      for (uint32_t m = 0; m < multiplier; ++m, ++i, ++w) {
        const uint32_t oc = ic * multiplier + m;
        uint32_t sum = tmo_sum_begin(k, i, k->bias ? (uint32_t)k->bias[oc] : 0);
        for (uint32_t r = 0; r < k->n_taps; ++r) {
          sum += taps_dot(rows[r] + pixel, x_step, w + r * kernel_row, k->out_channels, taps.count, zero_point);
        }
        if (tmo_sum_end(k, i, sum)) out[i] = tmo_channel_output(k, oc, sum);
      }
    }
  }
}
