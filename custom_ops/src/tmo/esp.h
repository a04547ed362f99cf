/* SPDX-License-Identifier: Apache-2.0 */
/* This internal header declares ESP-NN's functions, for builds with TMO_ESP_NN. */
#ifndef TMO_ESP_H_
#define TMO_ESP_H_

#ifdef ESP_PLATFORM
#include <sdkconfig.h> /* Without the macro CONFIG_IDF_TARGET_..., esp_nn.h declares plain C kernels instead of the chip's vector kernels. */
#endif
#include <esp_nn.h>
#ifndef esp_nn_fully_connected_per_ch_s8
#error "This ESP-NN has no esp_nn_fully_connected_per_ch_s8: update espressif/esp-nn to 1.1.1, or build without TMO_ESP_NN"
#endif

#endif /* TMO_ESP_H_ */
