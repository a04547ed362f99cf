/* SPDX-License-Identifier: Apache-2.0 */
/* Declares ESP-NN's functions, for builds with TMO_ESP_NN. Internal. */
#ifndef TMO_ESP_H_
#define TMO_ESP_H_

#ifdef ESP_PLATFORM
#include <sdkconfig.h> /* without CONFIG_IDF_TARGET_..., esp_nn.h declares the plain C kernels instead of the chip's vector kernels */
#endif
#include <esp_nn.h>
#ifndef esp_nn_fully_connected_per_ch_s8
#error "This ESP-NN has no esp_nn_fully_connected_per_ch_s8: update espressif/esp-nn to 1.1.1, or build without TMO_ESP_NN"
#endif

#endif /* TMO_ESP_H_ */
