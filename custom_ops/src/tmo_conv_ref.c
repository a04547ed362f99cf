#include "tmo/kernels.h"

static uint32_t dot(const int8_t *x, const int8_t *w, uint32_t n, int32_t zero_point) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < n; ++i) sum += (uint32_t)((int32_t)w[i] * (x[i] - zero_point));
  return sum;
}

/* One row of the window. Without dilation, the taps of NHWC pixels are one run of bytes. */
static uint32_t taps_dot(const tmo_kernel *k, tmo_taps taps, const int8_t *x, const int8_t *w) {
  const uint32_t channels = k->in_channels;
  const int32_t zero_point = k->op->input_zero_point[0];
  const uint32_t dilation = k->op->dilation_w;
  if (dilation == 1) return dot(x, w, taps.count * channels, zero_point);
  uint32_t sum = 0;
  for (uint32_t t = 0; t < taps.count; ++t) {
    sum += dot(x + t * dilation * channels, w + t * channels, channels, zero_point);
  }
  return sum;
}

/* TFLM: ConvPerChannel, kernels/internal/reference/integer_ops/conv.h. */
void tmo_conv_row_s8(const tmo_kernel *k, const int8_t *const rows[], int8_t *out) {
  const uint32_t channels = k->in_channels;
  const uint32_t kernel_row = k->op->kernel_w * channels;
  uint32_t i = 0;
  for (uint16_t x = 0; x < k->out_width; ++x) {
    const tmo_taps taps = tmo_columns(k, x);
    const uint32_t pixel = taps.start * channels;
    const int8_t *w = k->weights + k->first_tap * kernel_row + taps.first * channels;
    for (uint32_t oc = 0; oc < k->out_channels; ++oc, ++i, w += k->op->kernel_h * kernel_row) {
      uint32_t sum = tmo_sum_begin(k, i, k->bias ? (uint32_t)k->bias[oc] : 0);
      for (uint32_t r = 0; r < k->n_taps; ++r) sum += taps_dot(k, taps, rows[r] + pixel, w + r * kernel_row);
      if (tmo_sum_end(k, i, sum)) out[i] = tmo_channel_output(k, oc, sum);
    }
  }
}
