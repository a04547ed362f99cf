/* This file replaces ESP-NN's header by functions that compute like TFLM. Like ESP-NN's vector code, the functions need
 * aligned data and overwrite the scratch memory. */
#ifndef TESTS_ESP_NN_H_
#define TESTS_ESP_NN_H_

#include "vendor.h"

#if defined(ESP_PLATFORM) && !defined(CONFIG_NN_OPTIMIZED)
#error "the real header would declare plain C kernels here: include sdkconfig.h first"
#endif

#define esp_nn_fully_connected_per_ch_s8 esp_nn_fully_connected_per_ch_s8_test
#define esp_nn_add_elementwise_s8 esp_nn_add_elementwise_s8_test
#define esp_nn_mul_elementwise_s8 esp_nn_mul_elementwise_s8_test
#define esp_nn_max_pool_s8 esp_nn_max_pool_s8_test
#define esp_nn_avg_pool_s8 esp_nn_avg_pool_s8_test
#define esp_nn_set_depthwise_conv_scratch_buf vendor_scratch
#define esp_nn_get_depthwise_conv_scratch_size esp_nn_get_depthwise_conv_scratch_size_test
#define esp_nn_depthwise_conv_s8 esp_nn_depthwise_conv_s8_test

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

static inline void esp_nn_fully_connected_per_ch_s8_test(const int8_t *input, const int32_t input_offset, const uint16_t row_len,
                                                         const int8_t *filter, const int32_t filter_offset, const int32_t *bias,
                                                         int8_t *out, const uint16_t out_channels, const int32_t out_offset,
                                                         const int32_t *shifts, const int32_t *multipliers, const int32_t activation_min,
                                                         const int32_t activation_max) {
  const vendor_layer layer = {input_offset, filter_offset, out_offset, activation_min, activation_max, bias, multipliers, shifts};
  vendor_fully_connected(&layer, input, row_len, filter, out_channels, 1, out);
}

static inline int esp_nn_get_depthwise_conv_scratch_size_test(const data_dims_t *input, const data_dims_t *filter, const data_dims_t *output,
                                                              const dw_conv_params_t *params) {
  const int32_t filters = filter->width * filter->height * input->channels, values = input->width * input->height * input->channels;
  const int32_t right = output->width * params->stride.width + 2 - input->width, below = output->height * params->stride.height + 2 - input->height;
  const int32_t sixteens = (input->channels + 15) / 16 * 16;
  if (filter->width != 3 || filter->height != 3 || input->channels < 12) return 2 * (filters + values) + 32;
  if (input->channels % 16 == 0) return filters + 16 + (right || below ? (input->width + right) * (input->height + below) * input->channels : 0);
  return sixteens * (9 + (input->width + right) * (input->height + below) + output->width * output->height) + 64;
}

static inline void esp_nn_depthwise_conv_s8_test(const data_dims_t *input_dims, const int8_t *input, const data_dims_t *filter_dims,
                                                 const int8_t *filter, const int32_t *bias, const data_dims_t *output_dims, int8_t *out,
                                                 const dw_conv_params_t *params, const quant_data_t *scales) {
  const vendor_layer layer = {params->in_offset, 0, params->out_offset, params->activation.min, params->activation.max, bias, scales->mult,
                              scales->shift};
  const vendor_image image = {input_dims->width, input_dims->channels, filter_dims->width, filter_dims->height, params->stride.width,
                              output_dims->width};
  vendor_depthwise(&layer, &image, input, filter, esp_nn_get_depthwise_conv_scratch_size_test(input_dims, filter_dims, output_dims, params), out);
}

static inline void esp_nn_add_elementwise_s8_test(const int8_t *input1, const int8_t *input2, const int32_t offset1, const int32_t offset2,
                                                  const int32_t mult1, const int32_t mult2, const int32_t shift1, const int32_t shift2,
                                                  const int32_t left_shift, int8_t *out, const int32_t out_offset, const int32_t out_mult,
                                                  const int32_t out_shift, const int32_t activation_min, const int32_t activation_max,
                                                  const int32_t size) {
  const int32_t offsets[] = {offset1, offset2}, mults[] = {mult1, mult2, out_mult}, shifts[] = {shift1, shift2, out_shift};
  const vendor_layer layer = {0, 0, out_offset, activation_min, activation_max, offsets, mults, shifts};
  vendor_add(&layer, input1, input2, left_shift, size, out);
}

static inline void esp_nn_mul_elementwise_s8_test(const int8_t *input1, const int8_t *input2, const int32_t offset1, const int32_t offset2,
                                                  int8_t *out, const int32_t out_offset, const int32_t out_mult, const int32_t out_shift,
                                                  const int32_t activation_min, const int32_t activation_max, const int32_t size) {
  const vendor_layer layer = {offset1, offset2, out_offset, activation_min, activation_max, 0, &out_mult, &out_shift};
  vendor_multiply(&layer, input1, input2, size, out);
}

static inline void esp_nn_max_pool_s8_test(const int8_t *input, const uint16_t input_wd, const uint16_t input_ht, int8_t *out,
                                           const uint16_t output_wd, const uint16_t output_ht, const uint16_t stride_wd,
                                           const uint16_t stride_ht, const uint16_t filter_wd, const uint16_t filter_ht, const uint16_t pad_wd,
                                           const uint16_t pad_ht, const int32_t activation_min, const int32_t activation_max,
                                           const uint16_t channels) {
  const vendor_image image = {input_wd, channels, filter_wd, filter_ht, stride_wd, output_wd};
  (void)input_ht, (void)output_ht, (void)stride_ht, (void)pad_ht; /* the image has one output row, without padding above or below */
  vendor_pool(&image, input, pad_wd, activation_min, activation_max, 1, out);
}

static inline void esp_nn_avg_pool_s8_test(const int8_t *input, const uint16_t input_wd, const uint16_t input_ht, int8_t *out,
                                           const uint16_t output_wd, const uint16_t output_ht, const uint16_t stride_wd,
                                           const uint16_t stride_ht, const uint16_t filter_wd, const uint16_t filter_ht, const uint16_t pad_wd,
                                           const uint16_t pad_ht, const int32_t activation_min, const int32_t activation_max,
                                           const uint16_t channels) {
  const vendor_image image = {input_wd, channels, filter_wd, filter_ht, stride_wd, output_wd};
  (void)input_ht, (void)output_ht, (void)stride_ht, (void)pad_ht;
  vendor_pool(&image, input, pad_wd, activation_min, activation_max, 0, out);
}

#endif /* TESTS_ESP_NN_H_ */
