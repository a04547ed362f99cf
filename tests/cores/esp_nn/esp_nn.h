/* ESP-NN's interface, to count the instructions of our code around its kernels. Those of convolutions do nothing. Elementwise operators and pools,
 * of which it is not known how often ESP-NN runs them, take about what they take in C. */
#ifndef TESTS_EMPTY_ESP_NN_H_
#define TESTS_EMPTY_ESP_NN_H_

#include <stdint.h>

#include "tmo/fixed.h"

#define EMPTY static __attribute__((noinline, noipa, unused))

typedef struct {
  int32_t width, height, channels, extra;
} data_dims_t;

typedef struct {
  int32_t width, height;
} data_2d_t;

typedef struct {
  int32_t min, max;
} act_params_t;

typedef struct {
  int32_t *shift, *mult;
} quant_data_t;

typedef struct {
  int32_t in_offset, out_offset, ch_mult;
  data_2d_t stride, padding, dilation;
  act_params_t activation;
} dw_conv_params_t;

#define esp_nn_fully_connected_per_ch_s8 empty_fully_connected

EMPTY void empty_fully_connected(const int8_t *input, int32_t input_offset, uint16_t row_len, const int8_t *filter, int32_t filter_offset,
                                 const int32_t *bias, int8_t *out, uint16_t out_channels, int32_t out_offset, const int32_t *shifts,
                                 const int32_t *multipliers, int32_t least, int32_t most) {
  (void)input, (void)input_offset, (void)row_len, (void)filter, (void)filter_offset, (void)bias, (void)out, (void)out_channels;
  (void)out_offset, (void)shifts, (void)multipliers, (void)least, (void)most;
}

EMPTY void esp_nn_set_depthwise_conv_scratch_buf(void *scratch) { (void)scratch; }

EMPTY int esp_nn_get_depthwise_conv_scratch_size(const data_dims_t *input, const data_dims_t *filter, const data_dims_t *output,
                                                 const dw_conv_params_t *params) {
  (void)input, (void)filter, (void)output, (void)params;
  return 0;
}

EMPTY void esp_nn_depthwise_conv_s8(const data_dims_t *input_dims, const int8_t *input, const data_dims_t *filter_dims, const int8_t *filter,
                                    const int32_t *bias, const data_dims_t *output_dims, int8_t *out, const dw_conv_params_t *params,
                                    const quant_data_t *scales) {
  (void)input_dims, (void)input, (void)filter_dims, (void)filter, (void)bias, (void)output_dims, (void)out, (void)params, (void)scales;
}

static inline int8_t limited(int32_t value, int32_t offset, int32_t least, int32_t most) {
  return tmo_clamp(value + offset, (int8_t)least, (int8_t)most);
}

EMPTY void esp_nn_add_elementwise_s8(const int8_t *a, const int8_t *b, int32_t offset_a, int32_t offset_b, int32_t mult_a, int32_t mult_b,
                                     int32_t shift_a, int32_t shift_b, int32_t left_shift, int8_t *out, int32_t out_offset, int32_t out_mult,
                                     int32_t out_shift, int32_t least, int32_t most, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    const int32_t left = tmo_rescale((a[i] + offset_a) * (1 << left_shift), mult_a, shift_a);
    const int32_t right = tmo_rescale((b[i] + offset_b) * (1 << left_shift), mult_b, shift_b);
    out[i] = limited(tmo_rescale(left + right, out_mult, out_shift), out_offset, least, most);
  }
}

EMPTY void esp_nn_mul_elementwise_s8(const int8_t *a, const int8_t *b, int32_t offset_a, int32_t offset_b, int8_t *out, int32_t out_offset,
                                     int32_t out_mult, int32_t out_shift, int32_t least, int32_t most, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    out[i] = limited(tmo_rescale((a[i] + offset_a) * (b[i] + offset_b), out_mult, out_shift), out_offset, least, most);
  }
}

EMPTY void esp_nn_avg_pool_s8(const int8_t *input, uint16_t width, uint16_t height, int8_t *out, uint16_t out_width, uint16_t out_height,
                              uint16_t stride_w, uint16_t stride_h, uint16_t kernel_w, uint16_t kernel_h, uint16_t pad_w, uint16_t pad_h,
                              int32_t least, int32_t most, uint16_t channels) {
  (void)height, (void)out_height, (void)stride_h, (void)pad_h;
  for (int32_t x = 0; x < out_width; ++x) {
    const int32_t start = x * stride_w - pad_w, end = start + kernel_w;
    const int32_t from = start < 0 ? 0 : start, to = end > width ? width : end;
    for (int32_t c = 0; c < channels; ++c) {
      int32_t sum = 0;
      for (int32_t y = 0; y < kernel_h; ++y) {
        for (int32_t i = from; i < to; ++i) sum += input[(y * width + i) * channels + c];
      }
      *out++ = limited(sum / (kernel_h * (to - from)), 0, least, most);
    }
  }
}

#define esp_nn_max_pool_s8 esp_nn_avg_pool_s8

#endif /* TESTS_EMPTY_ESP_NN_H_ */
