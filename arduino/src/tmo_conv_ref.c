#include "tmo/backend.h"
#include "tmo/kernels.h"

static uint32_t dot(const int8_t *x, const int8_t *w, uint32_t n, int32_t zero_point) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < n; ++i) sum += (uint32_t)((int32_t)w[i] * (x[i] - zero_point));
  return sum;
}

/* The taps of one row. Without dilation, those of NHWC pixels are one run of bytes. */
static uint32_t taps_dot(const tmo_kernel *k, uint32_t n, const int8_t *x, const int8_t *w) {
  const uint32_t channels = k->in_channels;
  const int32_t zero_point = k->op->input_zero_point[0];
  const uint32_t dilation = k->op->dilation_w;
  if (dilation == 1) return dot(x, w, n * channels, zero_point);
  uint32_t sum = 0;
  for (uint32_t t = 0; t < n; ++t) sum += dot(x + t * dilation * channels, w + t * channels, channels, zero_point);
  return sum;
}

static uint32_t rows_dot(const tmo_kernel *k, const tmo_window *v, const int8_t *w, uint32_t kernel_row) {
  uint32_t sum = 0;
  for (uint32_t r = 0; r < v->count; ++r) sum += taps_dot(k, v->columns, v->pixels[r] + v->offset, w + r * kernel_row);
  return sum;
}

static uint32_t pixels_dot(const tmo_kernel *k, const tmo_window *v, const int8_t *w, uint32_t kernel_row) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < v->count; w += kernel_row) {
    for (uint32_t c = 0; c < v->columns; ++c) {
      sum += dot(v->pixels[i++], w + c * k->tap_step, k->in_channels, k->op->input_zero_point[0]);
    }
  }
  return sum;
}

/* One output pixel; its channels are outputs i, i + 1, .. The window is a copy, which no write to the outputs can change.
 * TFLM: ConvPerChannel, kernels/internal/reference/integer_ops/conv.h. */
static void conv(const tmo_kernel *k, tmo_window v, uint32_t i, int8_t *out) {
#if TMO_HAS_BACKEND
  if (tmo_is_run(k, &v)) {
    tmo_conv_backend(k, v.pixels[0] + v.offset, out + i);
    return;
  }
#endif
  const bool by_row = k->op->tile == 0;
  const uint32_t kernel_row = k->op->kernel_w * k->tap_step;
  const int8_t *w = k->weights + tmo_first_tap(k, &v);
  for (uint32_t oc = 0; oc < k->out_channels; ++oc, ++i, w += k->op->kernel_h * kernel_row) {
    uint32_t sum = tmo_sum_begin(k, i, k->bias ? (uint32_t)k->bias[oc] : 0);
    sum += by_row ? rows_dot(k, &v, w, kernel_row) : pixels_dot(k, &v, w, kernel_row);
    if (tmo_sum_end(k, i, sum)) out[i] = tmo_channel_output(k, oc, sum);
  }
}

void tmo_conv_row_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) {
  for (uint16_t x = 0; x < k->out_width; ++x) {
    conv(k, tmo_column(k, window, x), x * k->out_channels, out);
  }
}

void tmo_conv_pixel_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out) { conv(k, *window, 0, out); }
