/* The functions of ESP-NN that the library calls, reimplemented for the tests with its interface (esp_nn_ansi_headers.h) and TFLM's
 * arithmetic. */
#ifndef TESTS_ESP_NN_H_
#define TESTS_ESP_NN_H_

#include "vendor.h"

#define esp_nn_fully_connected_per_ch_s8 esp_nn_fully_connected_per_ch_s8_test

static inline void esp_nn_fully_connected_per_ch_s8_test(const int8_t *input, const int32_t input_offset, const uint16_t row_len,
                                                         const int8_t *filter, const int32_t filter_offset, const int32_t *bias,
                                                         int8_t *out, const uint16_t out_channels, const int32_t out_offset,
                                                         const int32_t *shifts, const int32_t *multipliers, const int32_t activation_min,
                                                         const int32_t activation_max) {
  const vendor_layer layer = {input_offset, filter_offset, out_offset, activation_min, activation_max, bias, multipliers, shifts};
  vendor_fully_connected(&layer, input, row_len, filter, out_channels, 1, out);
}

#endif /* TESTS_ESP_NN_H_ */
